// Builds the page into the package, where `services/web` serves it from. The same sources give the same bytes.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    outDir: "../sourcier/services/web/static",
    emptyOutDir: true,
    // No data: addresses: the content security policy allows none.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox121", "safari17.5"],
    license: { fileName: "licenses.md" },
  },
  // `npx vite` beside a running stack: SOURCIER_WEB_HTTP_LISTEN=127.0.0.1:8080.
  server: { proxy: { "/sourcier.": "http://127.0.0.1:8080", "/api": "http://127.0.0.1:8080", "/health": "http://127.0.0.1:8080" } },
});
