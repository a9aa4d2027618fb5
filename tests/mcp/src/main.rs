//! The MCP server over streamable HTTP on loopback, beside the tools, resources and prompts that the
//! conformance suite calls by name. Says where it listens, and ends when its standard input does.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use portcullis_mcp::Server;
use portcullis_tests::World;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

mod asking;
mod composed;
mod fixtures;
mod live;
mod pages;
mod subscribers;

use composed::Composed;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(gate) = std::env::args_os().nth(1) else {
        return Err("usage: portcullis-mcp-tests GATE".into());
    };
    let mut world = World::new(gate.into());
    world.write("README.md", "what the real tools find\n");
    let server = Server::of(world.session().session)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let address = listener.local_addr()?;
    println!("http://{address}/mcp");
    let composed = Composed::beside(Arc::new(server));
    // A page of the web that has its name resolved to loopback is told apart by Host and Origin.
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(["127.0.0.1", "localhost"])
        .with_allowed_origins([format!("http://{address}")])
        .enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(composed.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let mut rest = Vec::new();
    let mut input = tokio::io::stdin();
    tokio::select! {
        ended = input.read_to_end(&mut rest) => ended.map(|_| ())?,
        failed = accept(listener, service) => failed?,
    }
    Ok(())
}

async fn accept(
    listener: TcpListener,
    service: StreamableHttpService<Composed<Server>, LocalSessionManager>,
) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
            // A client that goes away in the middle of a stream is part of what is tried.
            if let Err(error) = served {
                eprintln!("a connection ended: {error}");
            }
        });
    }
}
