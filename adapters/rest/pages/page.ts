/** What all pages for people have in common. They hold no script: the server writes them whole, once, at start. */
import { markup } from "./html.ts";
import type { Html } from "./html.ts";

/** One page. */
export interface Page {
  title: string;
  /** Where the surface is mounted, without a slash at the end; empty for the root. */
  mountPath: string;
  /** A list beside the text; null for none. */
  side: Html | null;
  body: Html;
}

/** Allows a page its own style sheet and nothing else. */
export const pageContentSecurityPolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Where the style sheet is, below the mount path. */
export const styleSheetPath = "/docs/style.css";

/** Writes a whole page. */
export function renderPage({ title, mountPath, side, body }: Page): string {
  return markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} - Fleetwright</title>
        <link rel="stylesheet" href="${mountPath}${styleSheetPath}" />
      </head>
      <body>
        <a class="skip" href="#text">Skip to the text</a>
        <header>
          <a class="brand" href="${mountPath}/docs">Fleetwright</a>
          <nav aria-label="Pages">
            <a href="${mountPath}/docs">API reference</a> <a href="${mountPath}/problems">Problems</a>
          </nav>
        </header>
        <div class="${side === null ? "plain" : "with-side"}">
          ${side !== null && markup`<aside>${side}</aside>`}
          <main id="text">${body}</main>
        </div>
      </body>
    </html> `.text;
}
