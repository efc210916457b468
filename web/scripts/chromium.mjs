// Unpacks the Chromium of the lock file, with the libraries and letters that a machine without a desktop lacks, into a folder.
// usage: TMPDIR=<folder> node scripts/chromium.mjs
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inflate } from "@sparticuz/chromium";

const packed = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..", "bin");
for (const part of ["chromium.br", "swiftshader.tar.br", "fonts.tar.br", "al2023.tar.br"]) await inflate(join(packed, part));
// The one that comes with it looks for letters in /tmp/fonts.
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
await writeFile(join(tmpdir(), "fonts", "fonts.conf"), `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${escaped(join(tmpdir(), "fonts", "fonts"))}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${escaped(join(tmpdir(), "fonts", "cache"))}</cachedir>
</fontconfig>
`);
