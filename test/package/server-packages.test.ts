/** What `npm run build:server` makes, looked into without a machine. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packDeb, packRpm } from "../../packaging/packages.ts";
import { copyProgram } from "../../packaging/server/dependencies.ts";
import { files } from "../../packaging/server/packages.ts";
import { fillProgram } from "../../packaging/server/program-folder.ts";
import { repository } from "../architecture/source-tree.ts";
import { hasPrograms } from "../support/programs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const read = (path: string): string => readFileSync(path, "utf8");
const printed = (program: string, ...args: string[]): string =>
  spawnSync(program, args, { encoding: "utf8" }).stdout;
const hashOf = (path: string): string => printed("sha256sum", path).slice(0, 64);

/** A root folder with one file, of another time at each call. */
let age = 0;
function rootOf(name: string): string {
  const root = join(temporaryFolder(), name);
  mkdirSync(join(root, "etc"), { recursive: true });
  const file = join(root, "etc/x");
  writeFileSync(file, "x");
  age += 60;
  utimesSync(file, 1_700_000_000 + age, 1_700_000_000 + age);
  return root;
}

describe.skipIf(!hasPrograms("packages of the server", "dpkg-deb", "rpmbuild"))("the same content", () => {
  test("makes the same deb at another time", () => {
    const scripts = join(files, "deb");
    const control = "Description: x\n";
    const make = (): string =>
      packDeb({
        name: "x",
        version: "1.0.0",
        architecture: "x64",
        conffiles: [],
        scripts,
        control,
        root: rootOf("x"),
        target: temporaryFolder(),
      });
    expect(hashOf(make())).toBe(hashOf(make()));
  });

  test("makes the same rpm at another time, with the time and the host of nobody", () => {
    const spec = join(temporaryFolder(), "x.spec");
    writeFileSync(
      spec,
      "Name: x\nVersion: @PACKAGE_VERSION@\nRelease: 1\nSummary: x\nLicense: MIT\nAutoReqProv: no\n%description\nx\n%install\ncp -a @ROOT@/. %{buildroot}\n%files\n/etc/x\n",
    );
    const cache = temporaryFolder();
    const make = (): string =>
      packRpm({
        version: "1.0.0",
        architecture: "x64",
        spec,
        cache,
        root: rootOf("same"),
        target: temporaryFolder(),
      });
    const path = make();
    expect(hashOf(make())).toBe(hashOf(path));
    const told = printed("rpm", "-qp", "--qf", "%{BUILDTIME} %{BUILDHOST}", path);
    expect(told).toBe("1 localhost");
  });
});

test("without an agent of the same version it is not built, and says what to do", () => {
  const folder = join(temporaryFolder(), "program");
  const agents = temporaryFolder();
  writeFileSync(join(agents, "manifest.json"), JSON.stringify({ version: "0.0.1", artifacts: [] }));
  const parts = { version: "0.0.2", cache: "", target: "", agents };
  expect(() => fillProgram(folder, "x64", parts)).toThrow(
    /no agent of version 0\.0\.2 .*npm run build:agent/,
  );
  expect(existsSync(folder)).toBe(false);
});

test("a program is copied without types, maps and the packages in it", () => {
  const from = join(temporaryFolder(), "node_modules/a");
  mkdirSync(join(from, "node_modules/b"), { recursive: true });
  for (const file of ["a.js", "a.d.ts", "a.d.mts", "a.js.map", "a.wasm", "node_modules/b/b.js"])
    writeFileSync(join(from, file), "");
  const to = join(temporaryFolder(), "a");
  copyProgram(from, to);
  const found = spawnSync("find", [to, "-type", "f", "-printf", "%P\n"], { encoding: "utf8" }).stdout;
  expect(found.trim().split("\n").toSorted()).toEqual(["a.js", "a.wasm"]);
});

test("the settings that it brings are those of the page, and each is a setting", () => {
  const brought = [...read(join(files, "environment")).matchAll(/^#?(FLEETWRIGHT_\w+=.*)$/gm)].map(
    ([, line]) => line,
  );
  const page = read(join(repository, "docs/how-to/run-the-server.md"));
  const block = /```ini\n# \/etc\/fleetwright\/environment\n(.*?)```/s.exec(page)?.[1] ?? "";
  expect(brought.toSorted()).toEqual(block.trim().split("\n").toSorted());
  const known = read(join(repository, "docs/configuration.md"));
  for (const line of brought) expect(known).toContain(`\`${line?.split("=")[0]}\``);
});
