//! Completions of shells.

use crate::place::{Place, Said};

#[test]
fn both_commands_complete_in_every_shell_without_a_session() {
    let place = Place::new();
    for (name, words) in [
        ("portcullis", ["run", "--workspace"]),
        ("portcullis-tool", ["search", "--ignore-case"]),
    ] {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let said = Said::of(place.command(name).args(["completions", shell]));
            assert_eq!((said.code, said.err.as_str()), (0, ""), "{name} {shell}");
            for word in words {
                let word = word.trim_start_matches('-');
                assert!(said.out.contains(word), "{name} {shell}: {word}");
            }
        }
        let unknown = Said::of(place.command(name).args(["completions", "none"]));
        assert_eq!(unknown.code, 2);
    }
}

#[test]
fn bash_takes_the_script_and_completes_with_it() {
    let place = Place::new();
    let script = Said::of(place.command("portcullis").args(["completions", "bash"]));
    place.write("completions", &script.out);
    let asked = "source ./completions; COMP_WORDS=(portcullis ru); COMP_CWORD=1
        _portcullis portcullis ru portcullis; echo \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    let said = Said::of(bash.args(["-c", asked]).current_dir(place.at(".")));
    assert_eq!((said.code, said.out.as_str()), (0, "run\n"), "{said:?}");
}
