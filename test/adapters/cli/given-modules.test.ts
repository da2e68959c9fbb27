/** `fleetwright modules upload` and `check` with files and folders. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { startSignedIn, type CommandLine } from "../../support/command-line.ts";

const module = (name: string, more = ""): string => `name: ${name}\n${more}resources: []\n`;

function made(line: CommandLine, files: Readonly<Record<string, string>>): string {
  const folder = join(line.folder, "modules");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const namesOf = async ({ server }: CommandLine): Promise<string[]> =>
  (await server.orchestrator.modules.list(systemCaller)).items.map(({ name }) => name).toSorted();

describe("a folder of modules", () => {
  it("is uploaded whole, what others require first, and nothing else of it", async () => {
    const line = await startSignedIn();
    const folder = made(line, {
      "app.yaml": module("app", "requires: [base]\n"),
      "deep/base.yml": module("base"),
      "notes.txt": "no module\n",
      ".hidden.yaml": "no module either\n",
    });
    const single = join(line.folder, "single.yaml");
    writeFileSync(single, module("single"));
    expect(await line.print("modules", "upload", `${folder}/`, single)).toBe(
      "base is now at revision 1.\nsingle is now at revision 1.\napp is now at revision 1.\n",
    );
    expect(await namesOf(line)).toEqual(["app", "base", "single"]);
    const again = JSON.parse(await line.print("modules", "upload", folder, "--json")) as object[];
    expect(again).toMatchObject([
      { name: "app", created: false },
      { name: "base", created: false },
    ]);
    expect((await line.run("modules", "check", folder)).stdout).toBe(
      `${folder}/app.yaml: app, 0 resources, no fault\n${folder}/deep/base.yml: base, 0 resources, no fault\n`,
    );
  });

  it("with a fault names the file of it, for people and programs", async () => {
    const line = await startSignedIn();
    const folder = made(line, { "a.yaml": module("a"), "b.yaml": "name: b\nresources: {}\n" });
    const refused = await line.run("modules", "upload", folder);
    expect(refused).toMatchObject({ code: 1, stdout: "a is now at revision 1.\n" });
    expect(refused.stderr).toMatch(new RegExp(`^fleetwright: ${folder}/b\\.yaml: MODULE_INVALID: .*\\n +2:`));
    const problem = JSON.parse((await line.run("modules", "upload", folder, "--json")).stderr) as object;
    expect(problem).toMatchObject({ about: `${folder}/b.yaml`, code: "MODULE_INVALID", exit_code: 1 });
  });

  it.each<[string, Readonly<Record<string, string>>, string[], RegExp]>([
    ["has no module", { "notes.txt": "" }, [], /modules has no file that ends with \.yaml or \.yml\.\n$/],
    [
      "is given with a file of it",
      { "a.yaml": module("a") },
      ["a.yaml"],
      /a\.yaml and \S+a\.yaml are both the module a\.\n$/,
    ],
    [
      "has a module twice",
      { "a.yaml": module("a"), "deep/b.yaml": module("a") },
      [],
      /a\.yaml and \S+b\.yaml are both the module a\.\n$/,
    ],
    [
      "has a module twice, in quotes",
      { "a.yaml": 'name: "a"\nresources: []\n', "b.yaml": module("a"), "c.yaml": module("b") },
      [],
      /a\.yaml and \S+b\.yaml are both the module a\.\n$/,
    ],
    [
      "has a module twice, in other quotes",
      { "a.yaml": "resources: []\nname:\t'a'\n", "b.yaml": module("a") },
      [],
      /a\.yaml and \S+b\.yaml are both the module a\.\n$/,
    ],
    ["has a link", { "a.yaml": module("a") }, ["link"], /link\.yaml: Links are not followed/],
  ])("that %s is refused before anything is uploaded", async (_, files, also, told) => {
    const line = await startSignedIn();
    const folder = made(line, files);
    const given = also.filter((each) => each !== "link").map((each) => join(folder, each));
    if (also.includes("link")) symlinkSync("/etc/passwd", join(folder, "link.yaml"));
    const refused = await line.run("modules", "upload", folder, ...given);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(told) as string });
    expect(await namesOf(line)).toEqual([]);
  });
});
