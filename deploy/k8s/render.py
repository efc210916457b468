"""Write the renderings of the chart that Kustomize users apply, or with `--check` prove that they are fresh.

    python deploy/k8s/render.py [--check]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tools

FOLDER = Path(__file__).resolve().parent
CHART = FOLDER / "chart"
RENDERED = FOLDER / "rendered"
PROFILES = FOLDER / "profiles"
RELEASE = NAMESPACE = "sourcier"
KUBE_VERSION = "1.33.0"

KUSTOMIZATION = """\
# Written by `make deploy` from deploy/k8s/profiles/{name}.yaml. Lay an overlay over it; do not change it.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: {namespace}
resources:
  - sourcier.yaml
"""


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: render.py [--check]", file=sys.stderr)
        return 2
    try:
        files = {path: text for name in profiles() for path, text in rendering(name).items()}
    except tools.NotInstalled as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    stale = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    stale += [path for path in RENDERED.glob("*/*") if path not in files]
    if arguments:
        for path in stale:
            print(f"error: {path.relative_to(tools.ROOT)} is not what the chart renders; run make deploy",
                  file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], "utf-8")
        else:
            path.unlink()
        print(f"{'wrote' if path in files else 'removed'} {path.relative_to(tools.ROOT)}")
    return 0


def profiles() -> list[str]:
    """Return the names of the renderings."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def rendering(name: str) -> dict[Path, str]:
    """Return the files of a rendering, by path."""
    folder = RENDERED / name
    return {
        folder / "sourcier.yaml": template("--values", str(PROFILES / f"{name}.yaml")),
        folder / "kustomization.yaml": KUSTOMIZATION.format(name=name, namespace=NAMESPACE),
    }


def template(*arguments: str) -> str:
    """Return what `helm template` renders; raise ValueError with what helm says of bad values."""
    done = subprocess.run(
        [str(tools.program("helm")), "template", RELEASE, str(CHART), "--namespace", NAMESPACE,
         "--kube-version", KUBE_VERSION, *arguments], capture_output=True, text=True,
    )
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
