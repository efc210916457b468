# Installs parts of the lock files where an image is made of, and writes what they are into /sbom:
#
#   add.sh FOLDER PART… [OPTION of pip…]
#
# FOLDER is /opt/sourcier, an environment, or /opt/part, which is laid over it. PART is one of select.py's, or `models`
# or `generate-cpu`, whose lock files are taken whole. The bill of materials has the name of the last part.
set -eu
folder=$1
shift
: > /build/selected.txt
while [ $# -gt 0 ]; do
  case $1 in
    -*) break ;;
    models) cat /build/export.lock ;;
    generate-cpu) cat /build/generate.lock ;;
    *) python3 /build/select.py "$1" /build/services.lock ;;
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
