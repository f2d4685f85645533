//! The little of HTTP/1.1 the fake speaks. Written by hand because the real server's faults are violations of HTTP that no library
//! would send: a second response head inside a chunked body, a last chunk without an end.

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest request head.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// `GET`, `POST`.
    pub method: String,
    /// As sent, without query.
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    /// Form fields of the body.
    pub form: HashMap<String, String>,
}

impl Received {
    /// The token of `Authorization: Bearer ...`, exactly so spelt.
    pub fn token(&self) -> Option<&str> {
        self.headers.get("authorization")?.strip_prefix("Bearer ")
    }

    /// Path segments, percent-decoded.
    pub fn segments(&self) -> Vec<String> {
        self.path
            .trim_start_matches('/')
            .split('/')
            .map(|s| decode(s, false))
            .collect()
    }
}

/// Reads one request; `None` when the peer closed the connection between requests.
pub async fn read_request(stream: &mut TcpStream) -> io::Result<Option<Received>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = find(&bytes, b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(io::Error::other("head too long"));
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or("").split(' ');
    let method = first.next().unwrap_or("").to_owned();
    let path = first
        .next()
        .unwrap_or("")
        .split('?')
        .next()
        .unwrap_or("")
        .to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let body_start = head_end + 4;
    while bytes.len() < body_start + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    let body = String::from_utf8_lossy(&bytes[body_start..body_start + length]).into_owned();
    let is_form = headers
        .get("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    let form = if is_form {
        body.split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (decode(name, true), decode(value, true)))
            .collect()
    } else {
        HashMap::new()
    };
    Ok(Some(Received {
        method,
        path,
        headers,
        form,
    }))
}

/// Writes a whole answer.
pub async fn answer(
    stream: &mut TcpStream,
    status: u16,
    content_type: &str,
    body: &str,
) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Whatever",
    };
    let extra = if status == 429 {
        "Retry-After: 1\r\n"
    } else {
        ""
    };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\n{extra}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

/// Begins a body of chunks.
pub async fn begin_stream(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n").await
}

/// One chunk.
pub async fn chunk(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    stream
        .write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
        .await
}

/// Whether the peer has closed its side. Reads nothing that matters: a streaming client sends nothing more.
pub fn peer_closed(stream: &TcpStream) -> bool {
    let mut byte = [0u8; 1];
    match stream.try_read(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

fn decode(text: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                let value = std::str::from_utf8(&hex)
                    .ok()
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok());
                bytes.push(value.unwrap_or(b'?'));
            }
            b'+' if plus_is_space => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
