/**
 * What makes the pages usable without seeing them, or without a mouse: their structure. Colours and sizes are looked at with axe-core in a
 * browser, by hand.
 */
import { describe, expect, it } from "vitest";
import { createOpenApiDocument } from "../../../../adapters/rest/openapi.ts";
import { renderHome } from "../../../../adapters/rest/pages/home.ts";
import { renderReference } from "../../../../adapters/rest/pages/reference.ts";
import { styleSheet } from "../../../../adapters/rest/pages/style.ts";
import {
  findProblemPage,
  renderProblemIndex,
  renderProblemPage,
} from "../../../../adapters/rest/problem-pages.ts";
import { appRouter } from "../../../../adapters/trpc/router.ts";

const pages = {
  home: renderHome(""),
  reference: renderReference(await createOpenApiDocument(appRouter)),
  problems: renderProblemIndex(),
  "a problem": renderProblemPage(findProblemPage("not-found")!),
};

/** Every element of a kind, with its attributes and what is in it. */
function elements(page: string, kind: string): { attributes: string; inner: string }[] {
  const pattern = new RegExp(`<(?:${kind})(?=[\\s>])([^>]*)>(.*?)</(?:${kind})>`, "gs");
  return [...page.matchAll(pattern)].map(([, attributes = "", inner = ""]) => ({ attributes, inner }));
}

const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();

describe.each(Object.entries(pages))("the page %s", (_name, page) => {
  it("says its language, its title and that it fits every width", () => {
    expect(page).toMatch(/^<!doctype html>\s*<html lang="en">/);
    expect(elements(page, "title").map(({ inner }) => textOf(inner))).toEqual([
      expect.stringMatching(/ - Fleetwright$/),
    ]);
    expect(page).toContain('name="viewport" content="width=device-width, initial-scale=1"');
    expect(page).not.toMatch(/user-scalable|maximum-scale/);
  });

  it("has one of each landmark, several of a kind with a name each, and a way past them", () => {
    for (const landmark of ["header", "main"]) expect(elements(page, landmark), landmark).toHaveLength(1);
    const names = elements(page, "nav").map(({ attributes }) => /aria-label="([^"]+)"/.exec(attributes)?.[1]);
    expect(names).not.toContain(undefined);
    expect(new Set(names).size).toBe(names.length);
    const [, skip] = /<body>\s*<a class="skip" href="#([^"]+)">/.exec(page) ?? [];
    expect(page).toContain(`<main id="${skip}">`);
  });

  it("has headings that begin with one h1 and leave out no level", () => {
    const [main] = elements(page, "main");
    const levels = [...(main?.inner ?? "").matchAll(/<h([1-6])[\s>]/g)].map(([, level]) => Number(level));
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    expect(levels[0]).toBe(1);
    const leaps = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1);
    expect(leaps).toEqual([]);
    for (const { inner } of elements(page, "h[1-6]")) expect(textOf(inner)).not.toBe("");
  });

  it("has a name for each link and each thing that opens", () => {
    const links = elements(page, "a");
    expect(links.length).toBeGreaterThan(4);
    const nameless = links.filter(
      ({ attributes, inner }) => !/aria-label="[^"]+"/.test(attributes) && textOf(inner) === "",
    );
    expect(nameless).toEqual([]);
    const details = page.match(/<details[\s>]/g) ?? [];
    const summaries = elements(page, "summary");
    expect(summaries).toHaveLength(details.length);
    expect(summaries.filter(({ inner }) => textOf(inner) === "")).toEqual([]);
  });

  it("has what scrolls within reach of the keyboard, and nothing but lists in its lists", () => {
    for (const { attributes } of elements(page, "pre")) expect(attributes).toContain('tabindex="0"');
    expect(page).not.toMatch(/tabindex="[1-9]/);
    for (const { inner } of elements(page, "ul"))
      expect(inner.replaceAll(/<li>.*?<\/li>/gs, "").trim()).toBe("");
    expect(page).not.toMatch(/<(img|input|select|textarea|button|iframe|table)[\s>]/);
  });
});

it("links among words are told by more than their colour, and what has the focus is seen", () => {
  expect(styleSheet).toMatch(/p a, dd a, dt a, summary a \{ text-decoration: underline/);
  expect(styleSheet).toContain("a:focus-visible");
  expect(styleSheet).not.toMatch(/outline: (none|0)/);
});
