# Installs parts of the lock files where an image is made of, and writes what they are into /sbom:
#
#   add.sh FOLDER PART… [OPTION of pip…]
#
# FOLDER is /opt/sourcier, an environment, or /opt/part, which is laid over it. PART is one of parts.py's, or `models`
# or `generate-cpu`, whose lock files are taken whole. The bill of materials has the name of the last part.
set -eu
folder=$1
shift
: > /build/selected.txt
trimmed=
while [ $# -gt 0 ]; do
  case $1 in
    -*) break ;;
    models) cat /build/export.lock ;;
    generate-cpu) cat /build/generate.lock ;;
    *) python3 /build/parts.py "$1" /build/services.lock; trimmed=yes ;;
  esac >> /build/selected.txt
  part=$1
  shift
done
# `--python` has wheels chosen, and commands written, for the environment; `--prefix` puts them beside it.
[ "$folder" = /opt/sourcier ] || set -- "$@" --prefix "$folder"
/opt/build/bin/python -m pip --python /opt/sourcier/bin/python install --no-cache-dir --no-deps \
  --requirement /build/selected.txt "$@"
# What lies over the environment is read with it: a bill is of a whole image.
PYTHONPATH=$(echo "$folder"/lib/python3*/site-packages) /opt/build/bin/cyclonedx-py environment \
  --output-reproducible --output-file "/sbom/$part.cdx.json" /opt/sourcier/bin/python
# PyTorch's own headers are read by what it compiles while it runs: the large images are left as they are.
[ -z "$trimmed" ] || python3 /build/trim.py "$folder"
