/**
 * What a method says that it throws, the description of its operation says that it may be refused with: clients are made from the one,
 * programs are written from the other.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codesOf } from "../../adapters/rest/openapi/problems.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";

const texts = readdirSync("lib", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join("lib", name), "utf8"));

const docs = String.raw`\/\*\*((?:(?!\*\/)[^])*)\*\/\s+`;

/** The docstrings of methods, by the permission that each asks for first. */
const byPermission = new Map<string, string>();
for (const text of texts) {
  const method = new RegExp(
    `${docs}async \\*?\\w+\\((?:(?!\\/\\*\\*)[^])*?\\.authorize\\(\\s*caller, "([\\w.]+)"`,
    "g",
  );
  for (const [, doc = "", permission = ""] of text.matchAll(method)) byPermission.set(permission, doc);
}

/** The codes that a docstring names, those of methods that it refers to included. */
function thrownBy(doc: string): string[] {
  const [, thrown = ""] = doc.split("@throws");
  const others = [...thrown.matchAll(/(?:What|As) `(\w+)\.(\w+)`/g)].map(([, owner = "", name = ""]) => {
    const text = texts.find((each) => each.includes(`class ${owner} `)) ?? "";
    const found = new RegExp(`${docs}(?:async )?${name}\\(`).exec(
      text.slice(text.indexOf(`class ${owner} `)),
    );
    if (found === null) throw new Error(`There is no docstring of ${owner}.${name}.`);
    return found[1]!;
  });
  const own = [...thrown.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, code = ""]) => code);
  return [...own, ...others.flatMap(thrownBy)];
}

const procedures = restProcedures(appRouter).filter(([name]) => byPermission.has(name));

test("the docstrings of nearly all methods are found", () => {
  expect(procedures.length).toBeGreaterThan(100);
  expect(thrownBy(byPermission.get("state.plan")!)).toContain("SECRET_UNAVAILABLE");
});

test.each(procedures)("%s is described with every code that its method throws", (name, procedure) => {
  const described = codesOf(name, procedure) as ReadonlySet<string>;
  expect(thrownBy(byPermission.get(name)!).filter((code) => !described.has(code))).toEqual([]);
});
