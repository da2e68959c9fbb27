/** The pages that a problem's `type` leads to. */
import { errorTable } from "fleetwright";
import type { ErrorCode } from "fleetwright";
import { httpStatusOf } from "../trpc/error-map.ts";
import { markup } from "./pages/html.ts";
import { renderPage } from "./pages/page.ts";
import { problemSlug } from "./problem.ts";

/** What a page says. */
export interface ProblemPage {
  code: ErrorCode;
  title: string;
  status: number;
  /** Whether the same request may succeed later without a change by the caller. */
  retryable: boolean;
}

const codes = Object.keys(errorTable) as ErrorCode[];
const pages = new Map(codes.map((code) => [problemSlug(code), toPage(code)]));

/** The page with this slug (`agent-offline`); null where there is none. */
export function findProblemPage(slug: string): ProblemPage | null {
  return pages.get(slug) ?? null;
}

/** Writes a page for people. */
export function renderProblemPage({ code, title, status, retryable }: ProblemPage, mountPath = ""): string {
  const advice = retryable
    ? "Trying again later may succeed."
    : "Trying again without a change will fail again.";
  const body = markup`<p class="soft"><a href="${mountPath}/problems">Problems</a></p>
    <h1>${code}</h1>
    <p>${title}</p>
    <p>HTTP status <code>${status}</code>. ${advice}</p>
    <p class="soft">
      A program decides by <code>code</code>, which is stable. The answer's <code>detail</code> says what it
      was about, and its <code>request_id</code> finds it in the log.
    </p>`;
  return renderPage({ title: code, mountPath, side: null, body });
}

/** Writes the list of all pages for people. */
export function renderProblemIndex(mountPath = ""): string {
  const items = [...pages].map(
    ([slug, { code, title, status }]) =>
      markup`<li>
        <a href="${mountPath}/problems/${slug}"><code>${code}</code></a> <span>${title}</span>
        <span class="soft">${status}</span>
      </li>`,
  );
  const body = markup`<h1>Problems</h1>
    <p>Every refusal of the API carries one of these codes.</p>
    <ul class="list">
      ${items}
    </ul>`;
  return renderPage({ title: "Problems", mountPath, side: null, body });
}

function toPage(code: ErrorCode): ProblemPage {
  const { message, retryable } = errorTable[code];
  return { code, title: message, status: httpStatusOf[code], retryable };
}
