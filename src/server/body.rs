//! Reading a request's body: bounded in size and time, into one buffer.
//!
//! Content is no matter here. Called by `router` for each review.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;
use tokio::time::timeout;

/// How much of a body that nobody wants is read, so that its sender can finish and read the answer.
const DISCARD_BYTES: usize = 64 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(10);

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLarge,
    TooSlow,
    /// The client went away, or its framing was wrong.
    Broken,
}

/// Reads a whole body of at most `limit` bytes within `time`.
///
/// # Errors
/// Before anything is read if the client has announced too much.
pub(super) async fn read(
    body: &mut Body,
    limit: usize,
    time: Duration,
) -> Result<Bytes, BodyError> {
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(BodyError::TooLarge);
    }
    timeout(time, collect(body, limit))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

/// Reads the rest of a body for nothing, within reason.
pub(super) async fn discard(mut body: Body) {
    let _ = timeout(DISCARD_TIME, async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(less) = left.checked_sub(length) else {
                return;
            };
            left = less;
        }
    })
    .await;
}

async fn collect(body: &mut Body, limit: usize) -> Result<Bytes, BodyError> {
    // Most reviews come as one frame, which is then the buffer.
    let Some(first) = data(body).await? else {
        return Ok(Bytes::new());
    };
    within(limit, first.len())?;
    let Some(second) = data(body).await? else {
        return Ok(first);
    };
    // What is left was checked against the limit: a client cannot make us reserve more.
    let left = usize::try_from(body.size_hint().lower()).unwrap_or_default();
    let mut buffer = Vec::with_capacity(limit.min(first.len() + second.len() + left));
    buffer.extend_from_slice(&first);
    drop(first);
    let mut next = Some(second);
    while let Some(frame) = next {
        within(limit, buffer.len() + frame.len())?;
        buffer.extend_from_slice(&frame);
        next = data(body).await?;
    }
    Ok(buffer.into())
}

/// The next frame with data in it; trailers are of no use.
async fn data(body: &mut Body) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn within(limit: usize, length: usize) -> Result<(), BodyError> {
    if length > limit {
        return Err(BodyError::TooLarge);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::Error;
    use hyper::body::Frame;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn one_frame_is_not_copied() {
        let bytes = Bytes::from(vec![7; 100]);
        let read = read(&mut Body::from(bytes.clone()), 100, SECOND)
            .await
            .unwrap();
        assert_eq!(read.as_ptr(), bytes.as_ptr());
    }

    #[tokio::test]
    async fn frames_are_joined() {
        let mut body = frames(&["ab", "", "cd", "e"]);
        assert_eq!(read(&mut body, 5, SECOND).await.unwrap(), "abcde");
    }

    #[tokio::test]
    async fn an_empty_body_is_empty() {
        assert_eq!(read(&mut Body::empty(), 5, SECOND).await.unwrap(), "");
    }

    #[tokio::test]
    async fn rejects_what_grows_beyond_the_limit() {
        for sent in [
            &["abcdef"][..],
            &["abc", "def"],
            &["a", "b", "c", "d", "e", "f"],
        ] {
            let read = read(&mut frames(sent), 5, SECOND).await;
            assert_eq!(read.unwrap_err(), BodyError::TooLarge);
        }
    }

    #[tokio::test]
    async fn rejects_an_announced_length_without_reading() {
        let mut body = Body::from("abcdef");
        assert_eq!(
            read(&mut body, 5, SECOND).await.unwrap_err(),
            BodyError::TooLarge
        );
        assert_eq!(body.size_hint().exact(), Some(6));
    }

    #[tokio::test(start_paused = true)]
    async fn rejects_a_body_that_does_not_come() {
        let mut body = Body::new(Frames(Vec::new(), true));
        assert_eq!(
            read(&mut body, 5, SECOND).await.unwrap_err(),
            BodyError::TooSlow
        );
    }

    fn frames(frames: &[&'static str]) -> Body {
        let frames = frames.iter().rev().map(|frame| Bytes::from(*frame));
        Body::new(Frames(frames.collect(), false))
    }

    /// Frames in reverse, of a length that is not announced; and whether more never comes.
    struct Frames(Vec<Bytes>, bool);

    impl HttpBody for Frames {
        type Data = Bytes;
        type Error = Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
            match self.0.pop() {
                Some(frame) => Poll::Ready(Some(Ok(Frame::data(frame)))),
                None if self.1 => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }
}
