/** The pages that a problem's `type` leads to. */
import { errorGuide, errorTable } from "fleetwright";
import type { ErrorCode, ErrorExplanation } from "fleetwright";
import { exampleProblem, problemSlug } from "../http/problem.ts";
import { httpStatusOf } from "../http/status.ts";
import { markup, prose } from "./pages/html.ts";
import { renderPage } from "./pages/page.ts";

/** What a page says. */
export interface ProblemPage extends ErrorExplanation {
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
export function renderProblemPage(page: ProblemPage, mountPath = ""): string {
  const { code, status, meaning, cause, advice } = page;
  const body = markup`<p class="soft"><a href="${mountPath}/problems">Problems</a></p>
    <h1>${code}</h1>
    <p><span class="badge">HTTP ${status}</span> <span class="badge">${retryNote(page)}</span></p>
    ${prose(meaning)}
    <h2 class="label">When it happens</h2>
    ${prose(cause)}
    <h2 class="label">What to do</h2>
    ${prose(advice)}
    <h2 class="label">What it looks like</h2>
    <pre tabindex="0"><code>${JSON.stringify(exampleProblem(code), null, 2)}</code></pre>
    <p class="soft">
      A program decides by <code>code</code>, which is stable. <code>detail</code> says what the request was about, and
      <code>request_id</code> finds it in the log of the server.
    </p>`;
  return renderPage({ title: code, mountPath, side: null, body });
}

/** Writes the same as plain text, for terminals. */
export function renderProblemText(page: ProblemPage): string {
  const { code, status, meaning, cause, advice } = page;
  return `${code} (HTTP ${status}, ${retryNote(page)})

${meaning}

When it happens: ${cause}

What to do: ${advice}
`;
}

/** Writes the list of all pages for people. */
export function renderProblemIndex(mountPath = ""): string {
  const items = [...pages].map(
    ([slug, { code, meaning, status }]) =>
      markup`<li>
        <a href="${mountPath}/problems/${slug}"><code>${code}</code></a> ${prose(meaning)}
        <span class="soft">${status}</span>
      </li>`,
  );
  const body = markup`<h1>Problems</h1>
    <p>Every refusal of the API carries one of these codes. Each page says what it means and what to do about it.</p>
    <ul class="list">
      ${items}
    </ul>`;
  return renderPage({ title: "Problems", mountPath, side: null, body });
}

function retryNote({ retryable }: ProblemPage): string {
  return retryable ? "may pass by itself" : "does not pass by itself";
}

function toPage(code: ErrorCode): ProblemPage {
  const { message, retryable } = errorTable[code];
  return { code, title: message, status: httpStatusOf[code], retryable, ...errorGuide[code] };
}
