/** The documentation site, of one page and one name: what the pages of TypeDoc look like with our settings. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Application, TSConfigReader, type TypeDocOptions } from "typedoc";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";

it(
  "a guide has its title once above its text, and a name says what it is in",
  { timeout: 60_000 },
  async () => {
    const folder = temporaryFolder();
    const write = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const settings = {
      compilerOptions: { module: "nodenext", types: [], noLib: true },
      files: ["one.ts", "two.ts"],
    };
    const options: TypeDocOptions = {
      tsconfig: write("tsconfig.json", JSON.stringify(settings)),
      entryPoints: [write("one.ts", "export interface One {}"), write("two.ts", "export interface Two {}")],
      projectDocuments: [write("guide.md", "# How to begin\n\nAt the beginning.\n")],
      plugin: [join(import.meta.dirname, "../../.typedoc-pages.mjs")],
      readme: "none",
      disableSources: true,
      skipErrorChecking: true,
      logLevel: "Error",
    };
    // Those of this folder would be read otherwise.
    const app = await Application.bootstrapWithPlugins(options, [new TSConfigReader()]);
    await app.generateDocs((await app.convert())!, join(folder, "site"));
    const read = (path: string): string => readFileSync(join(folder, "site", path), "utf8");
    const main = (page: string): string => /<div class="col-content">[^]*?<\/h1>/.exec(page)![0];

    const guide = main(read("documents/guide.html"));
    expect(guide.match(/How to begin/g)).toHaveLength(1);
    expect(guide).not.toContain("tsd-breadcrumb");
    expect(main(read("interfaces/one.One.html"))).toContain("tsd-breadcrumb");
  },
);
