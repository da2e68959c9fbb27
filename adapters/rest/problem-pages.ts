/** The pages that a problem's `type` leads to. */
import { errorTable } from "fleetwright";
import type { ErrorCode } from "fleetwright";
import { httpStatusOf } from "../trpc/error-map.ts";
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
export function renderProblemPage({ code, title, status, retryable }: ProblemPage): string {
  const advice = retryable
    ? "Trying again later may succeed."
    : "Trying again without a change will fail again.";
  return page(code, `<h1>${code}</h1><p>${escape(title)}</p><p>HTTP status ${status}. ${advice}</p>`);
}

/** Writes the list of all pages for people. */
export function renderProblemIndex(): string {
  const items = [...pages].map(
    ([slug, { code, title }]) => `<li><a href="/problems/${slug}">${code}</a> ${escape(title)}</li>`,
  );
  return page("Problems", `<h1>Problems</h1><ul>${items.join("")}</ul>`);
}

function toPage(code: ErrorCode): ProblemPage {
  const { message, retryable } = errorTable[code];
  return { code, title: message, status: httpStatusOf[code], retryable };
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><body>${body}</body></html>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
