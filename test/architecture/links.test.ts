/** Every link of the guides leads to a file that is there, and to a title of it. Run by `npm run check`. */
import { existsSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { expect, it } from "vitest";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { listFiles, readText, repository } from "./source-tree.ts";

const isGuide = (path: string): boolean => path.endsWith(".md") && !path.startsWith("docs/api/");
const guides = [
  ...listFiles("docs").filter(isGuide),
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];

/** What a page has below its title, without what stands in its blocks of code. */
const prose = (page: string): string => page.replaceAll(/^```.*?^```$/gms, "").replaceAll(/`[^`\n]*`/g, "");

/** The anchors of a page's titles, as GitHub and the documentation site make them. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of page.replaceAll(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm)) {
    const anchor = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    let unique = anchor;
    for (let at = 1; anchors.has(unique); at += 1) unique = `${anchor}-${at}`;
    anchors.add(unique);
  }
  return anchors;
}

/** What is wrong with the links of a page that stands at a path. */
function brokenLinks(path: string, page: string): string[] {
  return [...prose(page).matchAll(/\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].flatMap(
    ([, target = "", anchor]) => {
      const file = target === "" ? path : normalize(join(path, "..", target));
      const place = join(repository, file);
      if (target !== "" && !existsSync(place)) return [`${path} -> ${target}`];
      if (anchor === undefined) return [];
      if (target !== "" && statSync(place).isDirectory()) return [`${path} -> ${target}#${anchor}`];
      return anchorsOf(file === path ? page : (readText(file) ?? "")).has(anchor)
        ? []
        : [`${path} -> ${file}#${anchor}`];
    },
  );
}

it("links of the guides lead somewhere, to the title that they name", () => {
  expect(guides.length).toBeGreaterThan(80);
  expect(guides.flatMap((path) => brokenLinks(path, readText(path) ?? ""))).toEqual([]);
});

it("a link to a file or a title that is not there is told", () => {
  const page =
    "# Some `thing`\n\n[a](none.md) [b](#some-thing) [c](#other) [d](health.md#none) [e](health.md)\n";
  expect(brokenLinks("docs/x.md", page)).toEqual([
    "docs/x.md -> none.md",
    "docs/x.md -> docs/x.md#other",
    "docs/x.md -> docs/health.md#none",
  ]);
});

it("every how-to page, and each reference page, is in the index of the readme", () => {
  const readme = readText("README.md") ?? "";
  const pages = listFiles("docs").filter((path) => /^docs\/(how-to\/)?[^/]+\.md$/.test(path));
  expect(pages.filter((path) => !readme.includes(`](${path})`))).toEqual([]);
});

it("calls that the guides name are rows of the API", () => {
  const rows = restProcedures(appRouter).map(([, { _def }]) => {
    const { method, path } = (_def.meta as Required<ProcedureMeta>).openapi;
    return `${method} ${path}`;
  });
  const beside = ["GET /metrics", "GET /install.sh", "GET /agent/{platform}", "GET /openapi.json"];
  // What the changelog names may be gone by now.
  const pages = guides.filter((path) => path !== "CHANGELOG.md");
  const named = pages.flatMap((path) =>
    [
      ...(readText(path) ?? "").matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (?:\/api\/v1)?(\/[\w{}./-]*[\w}])/g),
    ].map(([, method, place]) => ({ path, call: `${method} ${place}` })),
  );
  expect(named.length).toBeGreaterThan(150);
  expect(named.filter(({ call }) => !rows.includes(call) && !beside.includes(call))).toEqual([]);
});
