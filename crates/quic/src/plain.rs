//! A handshake and keys without cryptography.
//!
//! Nobody listens on a simulated link, and real keys would make runs differ: a signature's length is
//! random. So packets stay readable, and only what others see of cryptography is kept: the flights of TLS
//! 1.3 (RFC 9001, section 4.1) with typical lengths, and the 16 bytes that authentication adds to each
//! packet. A damaged packet is not noticed; simulated links damage none.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Bytes that authenticate a packet (RFC 9001, section 5.3).
const TAG: usize = 16;

/// Lengths of the messages in bytes. Those with transport parameters are longer by these. That of the
/// server is for a chain of certificates of about 2 kB, as from a public authority.
const CLIENT_HELLO: usize = 280;
const SERVER_HELLO: usize = 90;
const SERVER_FLIGHT: usize = 2300;
const FINISHED: usize = 52;

/// Keys, tokens and resets without cryptography.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
        packet: packet_keys(),
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Plain), remote: Box::new(Plain) }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        16
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HmacKey for Plain {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let sum = data.iter().fold(0x5a_u8, |sum, byte| sum.rotate_left(3) ^ byte);
        out.fill(sum | 1);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = vec![0; signature.len()];
        self.sign(data, &mut own);
        if own == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Plain)
    }
}

impl AeadKey for Plain {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let len = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..len])
    }
}

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, params))
    }
}

/// The handshake of one end: two messages are written, and two are read.
struct Handshake {
    side: Side,
    /// This end's transport parameters, encoded.
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// What has arrived of a message that is not complete.
    partial: Vec<u8>,
    read: u8,
    written: u8,
    /// Whether a client has the keys of the handshake.
    has_keys: bool,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        Handshake {
            side,
            own,
            peer: None,
            partial: Vec::new(),
            read: 0,
            written: 0,
            has_keys: false,
        }
    }

    /// Appends a message: its length, that of the parameters, the parameters, and `len` other bytes.
    fn write(&mut self, buf: &mut Vec<u8>, params: bool, len: usize) {
        let own: &[u8] = if params { &self.own } else { &[] };
        buf.extend(((own.len() + len) as u16).to_be_bytes());
        buf.extend((own.len() as u16).to_be_bytes());
        buf.extend(own);
        buf.resize(buf.len() + len, 0);
        self.written += 1;
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => self.written < 2,
            Side::Server => self.read < 2,
        }
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend(buf);
        while let Some((head, rest)) = self.partial.split_at_checked(4) {
            let number = |at: usize| usize::from(u16::from_be_bytes([head[at], head[at + 1]]));
            let (len, params) = (number(0), number(2));
            if rest.len() < len {
                break;
            }
            if params > 0 {
                let mut encoded = rest.get(..params.min(len)).unwrap_or_default();
                self.peer = Some(TransportParameters::read(self.side, &mut encoded)?);
            }
            self.partial.drain(..4 + len);
            self.read += 1;
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        // Of the client: hello, keys of the handshake, finished with those of data. Of the server: hello
        // with keys of the handshake, flight with those of data.
        match (self.side, self.written, self.read) {
            (Side::Client, 0, _) => {
                self.write(buf, true, CLIENT_HELLO);
                None
            }
            (Side::Client, 1, 1..) if !std::mem::replace(&mut self.has_keys, true) => Some(keys()),
            (Side::Client, 1, 2..) => {
                self.write(buf, false, FINISHED);
                Some(keys())
            }
            (Side::Server, 0, 1..) => {
                self.write(buf, false, SERVER_HELLO);
                Some(keys())
            }
            (Side::Server, 1, _) => {
                self.write(buf, true, SERVER_FLIGHT);
                Some(keys())
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
