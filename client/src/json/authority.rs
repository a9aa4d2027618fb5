//! What a session may do, as JSON.

use super::{binding, hex, limits, object, put_name, refusal, rule, verbs};
use portcullis_protocol::authority::{Budget, Budgets, Effect};
use portcullis_protocol::session::{
    Delegated, DenialView, GrantView, Identity, RootView, Used, Verdict,
};
use portcullis_protocol::verb::ModeSet;
use serde_json::{Map, Value, json};

/// What a session may do.
pub fn identity(identity: &Identity) -> Value {
    let grants = |views: &[GrantView]| -> Vec<Value> { views.iter().map(grant).collect() };
    let roots: Vec<Value> = identity.roots.as_slice().iter().map(root).collect();
    let denials: Vec<Value> = identity.denials.as_slice().iter().map(denial).collect();
    json!({
        "session": identity.session.0,
        "authority": hex(&identity.authority.0),
        "parent": identity.parent.map(|parent| hex(&parent.0)),
        "owner": identity.owner.as_str(),
        "conversation": identity.conversation.as_str(),
        "expires_ms": identity.expires_ms,
        "roots": roots,
        "grants": grants(identity.grants.as_slice()),
        "asks": grants(identity.asks.as_slice()),
        "denials": denials,
        "budgets": budgets(&identity.budgets),
        "used": used(&identity.used),
        "limits": limits(&identity.limits),
    })
}

fn root(root: &RootView) -> Value {
    json!({ "label": root.label.as_str(), "scope": root.scope.name() })
}

/// A grant, or an ask. `modes` are those of its verbs that have some; `inputs` is how many exact
/// operations it is for, null for every one.
pub fn grant(grant: &GrantView) -> Value {
    let mut fields = object(json!({
        "root": grant.root.0,
        "verbs": verbs(grant.verbs),
        "modes": modes(grant.modes.of_verbs(grant.verbs)),
        "inputs": grant.inputs,
    }));
    put_name(&mut fields, "path", grant.prefix.as_kernel_bytes());
    Value::Object(fields)
}

fn modes(set: ModeSet) -> Value {
    set.iter().map(|mode| mode.name()).collect()
}

/// A visible denial; without a pattern it covers one object.
pub fn denial(denial: &DenialView) -> Value {
    let mut fields = object(json!({
        "rule": rule(&denial.rule),
        "verbs": verbs(denial.verbs),
        "effect": effect(denial.effect),
    }));
    if let Some(pattern) = &denial.pattern {
        put_name(&mut fields, "pattern", pattern.as_slice());
    }
    Value::Object(fields)
}

/// How a denial shows itself.
pub const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Deny => "deny",
        Effect::Ask => "ask",
        Effect::Hide => "hide",
    }
}

/// Most of each kind that may be used; null is without a limit.
pub fn budgets(budgets: &Budgets) -> Value {
    let fields = Budget::ALL.map(|kind| (field(kind), Value::from(budgets.of(kind))));
    Value::Object(Map::from_iter(fields))
}

/// How much of each kind is used.
pub fn used(used: &Used) -> Value {
    let fields = Budget::ALL.map(|kind| (field(kind), Value::from(used_of(used, kind))));
    Value::Object(Map::from_iter(fields))
}

/// How much of one kind is used.
pub(crate) const fn used_of(used: &Used, kind: Budget) -> u64 {
    match kind {
        Budget::Operations => used.operations,
        Budget::ReadBytes => used.read_bytes,
        Budget::WrittenBytes => used.written_bytes,
        Budget::Creates => used.creates,
        Budget::Deletes => used.deletes,
    }
}

/// The field of a kind: its name, spelled as fields are.
fn field(kind: Budget) -> String {
    kind.name().replace('-', "_")
}

/// A session that was delegated.
pub fn delegated(delegated: &Delegated) -> Value {
    json!({ "session": delegated.session.0, "authority": hex(&delegated.authority.0) })
}

/// The answer to `why`. `asks` says that an approval would allow it; then `allowed` is false.
pub fn verdict(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Allowed {
            grant: by,
            binding: bound,
        } => json!({
            "allowed": true,
            "asks": false,
            "grant": grant(by),
            "object": binding(bound),
        }),
        Verdict::Asks { rule: by } => json!({
            "allowed": false,
            "asks": true,
            "rule": by.as_ref().map(rule),
        }),
        Verdict::Refused(refused) => json!({
            "allowed": false,
            "asks": false,
            "refusal": refusal(refused),
        }),
    }
}
