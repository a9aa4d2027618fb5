//! A worker that serves its session over the Model Context Protocol: `portcullis-mcp`.
//!
//! It holds one socket, as every worker: what it can read and change is what its session was
//! granted, whatever a client, a model or a fault in here asks for. `docs/MCP.md` says what it
//! offers.
//!
//! A message goes one way: `transport` reads it strictly, `server` finds the tool, `tools` reads the
//! arguments and does the work at a `desk`, and `answer` or `refused` writes what came of it.

mod answer;
mod args;
mod compat;
mod desk;
mod failure;
mod name;
mod refused;
mod schema;
mod server;
mod short;
mod strict;
mod style;
mod sys;
#[cfg(test)]
mod tests;
mod tool;
mod tools;
mod transport;

pub use server::Server;

use args::{Arguments, Compat};
use clap::Parser;
use portcullis_client::Session;
use rmcp::{ServerHandler, ServiceExt};
use std::io::Write;
use std::process::ExitCode;

/// Exit code: there is no session.
const NO_SESSION: u8 = 78;

/// Serves the session of this process until its input ends.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let session = match Session::from_env() {
        Ok(session) => session,
        Err(error) => return failed(&error, NO_SESSION),
    };
    match arguments.compat {
        None => served(Server::new(session, arguments.answers, &arguments.root)),
        Some(Compat::Reference) => served(compat::Reference::new(session, &arguments.root)),
    }
}

/// Serves until the input ends.
fn served<S: ServerHandler>(made: Result<S, portcullis_client::Error>) -> ExitCode {
    let server = match made {
        Ok(server) => server,
        Err(error) => return failed(&error, NO_SESSION),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error, 1),
    };
    let ended = runtime.block_on(async {
        let serving = server.serve(transport::Stdio::start()).await;
        match serving {
            Ok(serving) => serving
                .waiting()
                .await
                .map(|_| ())
                .map_err(|e| e.to_string()),
            // A client that goes before it has said hello is no failure.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    });
    // Threads that still read or walk end with the process.
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, 1),
    }
}

/// Says why nothing is served. When that cannot be written there is nobody to tell.
fn failed(why: &dyn std::fmt::Display, code: u8) -> ExitCode {
    writeln!(std::io::stderr().lock(), "portcullis-mcp: {why}").ok();
    ExitCode::from(code)
}
