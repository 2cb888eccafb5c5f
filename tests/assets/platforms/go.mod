// The rule by which containerd matches Windows builds, for tests/windows_builds.rs. A module of its own: the
// one above is the control plane's, whose dependencies are others.
module transom.dev/tests/assets/platforms

go 1.24

require (
	github.com/containerd/platforms v1.0.0-rc.5
	github.com/opencontainers/image-spec v1.1.1
)

require (
	github.com/containerd/log v0.1.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/sys v0.26.0 // indirect
)
