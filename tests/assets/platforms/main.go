// Whether containerd runs an image of one Windows build on a node of another one. Each line of the
// input is a pair of versions, node and image; each line of the output is true or false.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/containerd/platforms"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
)

func windows(version string) specs.Platform {
	return specs.Platform{OS: "windows", Architecture: "amd64", OSVersion: version}
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var node, image string
		if _, err := fmt.Sscan(in.Text(), &node, &image); err != nil {
			fmt.Fprintf(os.Stderr, "%q: %v\n", in.Text(), err)
			os.Exit(1)
		}
		fmt.Fprintln(out, platforms.NewMatcher(windows(node)).Match(windows(image)))
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
