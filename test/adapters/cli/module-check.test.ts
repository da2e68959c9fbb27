import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { moduleJsonSchema } from "fleetwright";
import { runIn } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const good = "name: good\nresources:\n  - { type: directory, path: /a }\n";
const bad = "name: bad\nresources:\n  - { type: file, path: a, content: '{{ params.x }}' }\n";

describe("the command module, without a server", () => {
  it("checks files and tells each fault by its line and column", async () => {
    const folder = temporaryFolder();
    const [goodFile, badFile] = [join(folder, "good.yaml"), join(folder, "bad.yaml")];
    writeFileSync(goodFile, good);
    writeFileSync(badFile, bad);
    expect(await runIn(folder, ["module", "check", goodFile])).toEqual({
      code: 0,
      stdout: `${goodFile}: good, 1 resource, no fault\n`,
      stderr: "",
    });
    const found = await runIn(folder, ["module", "check", goodFile, badFile]);
    expect(found.code).toBe(1);
    expect(found.stdout.split("\n").slice(1)).toEqual([
      expect.stringContaining(`${badFile}:3:25: must be an absolute`) as string,
      `${badFile}:3:41: params.x is not there: the module declares no such param.`,
      "",
    ]);
    const json = await runIn(folder, ["--json", "module", "check", badFile]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject([
      {
        file: badFile,
        name: null,
        resources: 0,
        faults: [
          { line: 3, column: 25 },
          { line: 3, column: 41 },
        ],
      },
    ]);
    expect(await runIn(folder, ["module", "check", join(folder, "none.yaml")])).toMatchObject({ code: 2 });
    expect(await runIn(folder, ["module", "check", "-"], undefined, good)).toMatchObject({ code: 0 });
  });

  it("prints the schema", async () => {
    const { code, stdout } = await runIn(temporaryFolder(), ["module", "schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(moduleJsonSchema());
  });
});
