//! What the name of an image says of the programs and the account in it. Not here: whether an
//! image is for Windows (`os`).

/// Whether an image is made from Nano Server, by its repository or tag. Its processes run as
/// ContainerUser, and it has no Windows PowerShell.
pub(super) fn is_nano_server(image: &str) -> bool {
    const NAME: &[u8] = b"nanoserver";
    let mut windows = image.as_bytes().windows(NAME.len());
    windows.any(|window| window.eq_ignore_ascii_case(NAME))
}
