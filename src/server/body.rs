//! Reading a request's body: bounded in size and time, into one buffer, within the budget of all bodies.
//!
//! Content is no matter here. Called by `router` for each review.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::budget::{Exhausted, Reserved};
use super::buffer::Buffer;

/// How much of a body that nobody wants is read, so that its sender can finish and read the answer.
const DISCARD_BYTES: usize = 64 * 1024 * 1024;
/// And for how long, where nothing else bounds it.
pub(super) const DISCARD_TIME: Duration = Duration::from_secs(10);

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLarge,
    TooSlow,
    /// Other bodies leave no room for this one.
    Overload,
    /// The client went away, or its framing was wrong.
    Broken,
}

impl From<Exhausted> for BodyError {
    fn from(Exhausted: Exhausted) -> Self {
        Self::Overload
    }
}

/// The system has no memory for this one now.
impl From<io::Error> for BodyError {
    fn from(_: io::Error) -> Self {
        Self::Overload
    }
}

/// Reads a whole body of at most `limit` bytes within `time`. The bytes keep their reservation until they are dropped,
/// even if the client disconnects during the evaluation. The response can use the same reservation.
///
/// # Errors
/// Before anything is read if the client has announced too much: for this limit, or for what is left of
/// the budget.
pub(super) async fn read(
    body: &mut Body,
    limit: usize,
    time: Duration,
    reserved: Reserved,
) -> Result<(Bytes, Arc<Reserved>), BodyError> {
    let announced = announced(body);
    within(limit, announced)?;
    let read = async {
        reserved.has_room(announced).await?;
        collect(body, limit, &reserved).await
    };
    let bytes = timeout(time, read)
        .await
        .unwrap_or(Err(BodyError::TooSlow))?;
    let reserved = Arc::new(reserved);
    let held = Held {
        bytes,
        _reserved: Arc::clone(&reserved),
    };
    Ok((Bytes::from_owner(held), reserved))
}

/// The response as it is, with its bytes in this reservation, until they are written or given up.
///
/// # Errors
/// They do not fit.
pub(super) async fn hold(
    response: Response,
    reserved: Arc<Reserved>,
) -> Result<Response, BodyError> {
    let (parts, mut body) = response.into_parts();
    let length = announced(&body);
    reserved.grow_to(length).await?;
    reserved.shrink_to(length);
    let mut bytes = Buffer::with_capacity(length)?;
    while let Some(frame) = data(&mut body).await? {
        bytes.push(&frame)?;
    }
    let held = Bytes::from_owner(Held {
        bytes,
        _reserved: reserved,
    });
    Ok(Response::from_parts(parts, held.into()))
}

/// Bytes of a request or a response with their reservation, until the last user drops them.
struct Held<B> {
    bytes: B,
    _reserved: Arc<Reserved>,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Held<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// Reads the rest of a body for nothing, within reason and this time, and tells whether that was all of it.
pub(super) async fn discard(body: &mut Body, time: Duration) -> bool {
    let all = async {
        let mut left = DISCARD_BYTES;
        loop {
            let Some(frame) = body.frame().await else {
                return true;
            };
            let length = frame.map(|frame| frame.data_ref().map_or(0, Bytes::len));
            match length.ok().and_then(|length| left.checked_sub(length)) {
                Some(less) => left = less,
                None => return false,
            }
        }
    };
    timeout(time, all).await.unwrap_or(false)
}

async fn collect(body: &mut Body, limit: usize, reserved: &Reserved) -> Result<Bytes, BodyError> {
    let fits = async |length| {
        within(limit, length)?;
        reserved.grow_to(length).await.map_err(BodyError::from)
    };
    // Most reviews come as one frame, which is then the buffer.
    let Some(first) = data(body).await? else {
        return Ok(Bytes::new());
    };
    fits(first.len()).await?;
    let Some(second) = data(body).await? else {
        return Ok(first);
    };
    // What is left was checked against the limit: a client cannot make us reserve more.
    let left = announced(body);
    let mut buffer = Buffer::with_capacity(limit.min(first.len() + second.len() + left))?;
    buffer.push(&first)?;
    drop(first);
    let mut next = Some(second);
    while let Some(frame) = next {
        fits(buffer.len() + frame.len()).await?;
        buffer.push(&frame)?;
        next = data(body).await?;
    }
    Ok(Bytes::from_owner(buffer))
}

/// How many bytes will come at least.
fn announced(body: &Body) -> usize {
    usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX)
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
    use crate::server::budget::Budget;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn one_frame_is_not_copied() {
        let bytes = Bytes::from(vec![7; 100]);
        let mut body = Body::from(bytes.clone());
        let budget = budget(100);
        let (read, _reserved) = super::read(&mut body, 100, SECOND, budget.reserve(None))
            .await
            .unwrap();
        assert_eq!(read.as_ptr(), bytes.as_ptr());
    }

    #[tokio::test]
    async fn frames_are_joined() {
        let mut body = frames(&["ab", "", "cd", "e"]);
        assert_eq!(read(&mut body).await.unwrap(), "abcde");
    }

    #[tokio::test]
    async fn an_empty_body_is_empty() {
        assert_eq!(read(&mut Body::empty()).await.unwrap(), "");
    }

    #[tokio::test]
    async fn rejects_what_grows_beyond_the_limit() {
        for sent in [
            &["abcdef"][..],
            &["abc", "def"],
            &["a", "b", "c", "d", "e", "f"],
        ] {
            let read = read(&mut frames(sent)).await;
            assert_eq!(read.unwrap_err(), BodyError::TooLarge);
        }
    }

    #[tokio::test]
    async fn rejects_an_announced_length_without_reading() {
        let mut body = Body::from("abcdef");
        assert_eq!(read(&mut body).await.unwrap_err(), BodyError::TooLarge);
        assert_eq!(body.size_hint().exact(), Some(6));
    }

    #[tokio::test(start_paused = true)]
    async fn rejects_a_body_that_does_not_come() {
        let mut body = Body::new(Frames(Vec::new(), true));
        assert_eq!(read(&mut body).await.unwrap_err(), BodyError::TooSlow);
    }

    #[tokio::test]
    async fn what_will_find_no_room_is_not_read() {
        let budget = budget(7);
        let mut body = Body::from("abcd");
        let first = super::read(&mut body, 5, SECOND, budget.reserve(None))
            .await
            .unwrap();
        let mut body = Body::from("efgh");
        let second = super::read(&mut body, 5, SECOND, budget.reserve(None)).await;
        assert_eq!(second.unwrap_err(), BodyError::Overload);
        assert_eq!(body.size_hint().exact(), Some(4), "nothing was read");
        drop(first);
        let third = super::read(&mut body, 5, SECOND, budget.reserve(None)).await;
        assert_eq!(third.unwrap().0, "efgh");
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_nothing_takes_nothing() {
        let budget = budget(7);
        let mut silent = Body::new(Announced(5));
        let first = super::read(&mut silent, 5, SECOND, budget.reserve(None));
        let mut body = Body::from("efgh");
        let second = super::read(&mut body, 5, SECOND, budget.reserve(None));
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.unwrap_err(), BodyError::TooSlow);
        assert_eq!(second.unwrap().0, "efgh");
    }

    #[tokio::test]
    async fn chunks_are_reserved_as_they_come() {
        let budget = budget(7);
        let mut body = frames(&["a", "b", "c", "d"]);
        let first = super::read(&mut body, 5, SECOND, budget.reserve(None))
            .await
            .unwrap();
        let mut body = frames(&["e", "f", "g", "h"]);
        let second = super::read(&mut body, 5, SECOND, budget.reserve(None)).await;
        assert_eq!(second.unwrap_err(), BodyError::Overload);
        assert!(
            discard(&mut body, SECOND).await,
            "what is left can be thrown away"
        );
        drop(first);
        let third = super::read(&mut frames(&["ijklm"]), 5, SECOND, budget.reserve(None)).await;
        assert_eq!(third.unwrap().0, "ijklm");
    }

    #[tokio::test]
    async fn keeps_reservation_while_an_evaluation_holds_the_body() {
        let budget = budget(7);
        let mut body = Body::from("abcd");
        let (bytes, reserved) = super::read(&mut body, 5, SECOND, budget.reserve(None))
            .await
            .unwrap();
        let evaluated = bytes.clone();
        // As when the client disconnects.
        drop((bytes, reserved));
        let late = budget.reserve(None);
        assert_eq!(late.grow_to(4).await, Err(Exhausted));
        drop(evaluated);
        assert_eq!(late.grow_to(7).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_is_not_thrown_away_forever() {
        let mut body = Body::new(Frames(Vec::new(), true));
        assert!(!discard(&mut body, SECOND).await);
    }

    /// Five bytes within a second, and nobody else.
    async fn read(body: &mut Body) -> Result<Bytes, BodyError> {
        let read = super::read(body, 5, SECOND, budget(5).reserve(None)).await;
        read.map(|(bytes, _)| bytes)
    }

    fn budget(bytes: usize) -> Budget {
        Budget::new(bytes, Arc::default())
    }

    fn frames(frames: &[&'static str]) -> Body {
        let frames = frames.iter().rev().map(|frame| Bytes::from(*frame));
        Body::new(Frames(frames.collect(), false))
    }

    /// A length that is announced and never comes.
    struct Announced(u64);

    impl HttpBody for Announced {
        type Data = Bytes;
        type Error = Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
            Poll::Pending
        }

        fn size_hint(&self) -> hyper::body::SizeHint {
            hyper::body::SizeHint::with_exact(self.0)
        }
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
