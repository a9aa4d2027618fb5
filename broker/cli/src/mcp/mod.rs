//! `portcullis mcp`: the MCP server as the worker of a session, started by a client.
//!
//! Standard output is the protocol's alone. The server itself is another executable, confined like
//! every worker; this process holds the broker's control connection, and nothing of what the server
//! writes is an order to it.

mod clients;
mod compat;
mod relay;
mod server;
mod watch;

use crate::args::{Changing, Compat, Decide, McpArguments, Reach, SeatChoice};
use crate::reach::require_roots;
use crate::run::{Job, Patience, RunError, Seated, Summary, told, waited};
use crate::worker::Streams;
use relay::{Between, Review};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How long the server may take to end once it was signalled.
const LAST_STEPS: Duration = Duration::from_secs(2);

/// Serves, or writes a configuration.
pub(crate) fn mcp(arguments: &McpArguments) -> ExitCode {
    if let Some(client) = arguments.print_config {
        return clients::print(client, arguments);
    }
    let mut reach = arguments.reach();
    if let Some(Compat::Reference) = arguments.compat
        && let Err(code) = compat::usable(&mut reach)
    {
        return code;
    }
    let ended = require_roots(&reach)
        .map_err(RunError::from)
        .and_then(|()| server::executable(arguments.server.clone()))
        .and_then(|server| serve(arguments, &reach, server));
    told(ended, arguments.ending())
}

fn serve(arguments: &McpArguments, reach: &Reach, server: PathBuf) -> Result<Summary, RunError> {
    let seat = arguments.seat.choice();
    let mut seated = Seated::new(reach, &arguments.ignore, seat)?;
    seated.ground = match arguments.changing() {
        Changing::Granted => seated.ground,
        Changing::Never => seated.ground.reading(),
    };
    match arguments.decide {
        Decide::Client => {}
        Decide::Review => {
            if let Some(why) = seated.ground.undecidable(seat) {
                return Err(RunError::Undecidable(why));
            }
        }
    }
    let ready = seated.mint("portcullis mcp")?;
    let command = server::command(server, arguments, &ready);
    let (streams, between) = match arguments.decide {
        Decide::Client if ready.seated.ground.asks() => {
            let (streams, between) = Between::pipes()?;
            (streams, Some(between))
        }
        Decide::Client | Decide::Review => (Streams::Own, None),
    };
    let (mut launched, running) = ready.launch(Job {
        command,
        environment: Vec::new(),
        runtime: Vec::new(),
        tool: None,
        streams,
    })?;
    match arguments.compat {
        Some(Compat::Reference) => compat::running(),
        None => {}
    }
    let client = watch::client(running.handle()?);
    let wait = || waited(running, Patience::Until(LAST_STEPS));
    let mut ended = match between {
        None => wait()?,
        Some(between) => {
            let review = match seat {
                SeatChoice::Shared { .. } => Review::Reaches,
                SeatChoice::Embedded { .. } => Review::DoesNot,
            };
            let deciding = launched.seated.ground.deciding();
            let control = &mut launched.seated.broker.control;
            between.carry(control, (deciding, review), wait)?
        }
    };
    ended.troubles.extend(client.trouble());
    Ok(launched.over(ended))
}
