//! A bulk transfer over quinn, as programs send it: its sockets, timers and TLS, on tokio.
//!
//!     quinn-bulk receive                                      # on host "server", port 443
//!     quinn-bulk send server CONTROL SECONDS [one-by-one]     # "cubic", "new-reno" or "bbr"
//!
//! The receiver writes a line each 100 ms: nanoseconds since 1970, and bytes received in order so far.
//! `one-by-one` turns segmentation offload off.

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::error::Error;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const PORT: u16 = 443;
const EACH: Duration = Duration::from_millis(100);

type Done = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive"] => receive().await,
        ["send", host, control, seconds] => send(host, control, seconds, true).await,
        ["send", host, control, seconds, "one-by-one"] => send(host, control, seconds, false).await,
        _ => Err("usage: quinn-bulk receive | send HOST CONTROL SECONDS [one-by-one]".into()),
    }
}

async fn receive() -> Done {
    let own = rcgen::generate_simple_self_signed(["server".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config, ([0, 0, 0, 0], PORT).into())?;
    let connection = endpoint.accept().await.ok_or("the socket is closed")?.await?;
    let total = Arc::new(AtomicU64::new(0));
    let shown = Arc::clone(&total);
    tokio::spawn(async move {
        let mut clock = tokio::time::interval(EACH);
        loop {
            clock.tick().await;
            #[expect(clippy::disallowed_methods, reason = "it is a program of its own")]
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            println!("{} {}", now.as_nanos(), shown.load(Ordering::Relaxed));
        }
    });
    while let Ok(mut stream) = connection.accept_uni().await {
        while let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await {
            total.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
        }
    }
    Ok(())
}

async fn send(host: &str, control: &str, seconds: &str, batches: bool) -> Done {
    let controls: Arc<dyn ControllerFactory + Send + Sync> = match control {
        "cubic" => Arc::new(CubicConfig::default()),
        "new-reno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return Err(format!("there is no control \"{control}\"").into()),
    };
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controls).enable_segmentation_offload(batches);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    let tls = quinn::crypto::rustls::QuicClientConfig::try_from(tls)?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    let there = (host, PORT).to_socket_addrs()?.next().ok_or("the host has no address")?;
    let endpoint = Endpoint::client(([0, 0, 0, 0], 0).into())?;
    let connection = endpoint.connect_with(config, there, "server")?.await?;
    let mut stream = connection.open_uni().await?;
    let sending = async {
        let zeros = vec![0; 65_536];
        while stream.write_all(&zeros).await.is_ok() {}
    };
    let _ = tokio::time::timeout(Duration::from_secs(seconds.parse()?), sending).await;
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Trusts everybody: there are two hosts, and the certificate is new in each run.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = rustls::crypto::ring::default_provider();
        provider.signature_verification_algorithms.supported_schemes()
    }
}
