/**
 * What `npm run build:agent` makes of a version. Symptoms: `1.2.0-beta.1` made a deb that comes after `1.2.0`, and no rpm at all; an
 * rpmbuild that failed took all that was built with it; building one platform removed the others.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildAgent } from "../../packaging/agent/build-agent.ts";
import { packAgentDeb, packAgentRpm } from "../../packaging/agent/packages.ts";
import { files, type BuildParts } from "../../packaging/agent/version-folder.ts";
import { Artifacts } from "../../packaging/artifacts.ts";
import { hasPrograms } from "../support/programs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A folder of a version with all that packages lay out of it, and where they go. */
function scene(version: string): {
  folder: string;
  place: string;
  told: string[];
  artifacts: Artifacts;
  parts: BuildParts;
} {
  const root = temporaryFolder();
  const folder = join(root, "folder");
  mkdirSync(folder, { recursive: true });
  for (const name of ["fleetwright-agent.service", "fleetwright-agent.sysvinit", "uninstall"])
    writeFileSync(join(folder, name), readFileSync(join(files, name)));
  const told: string[] = [];
  const place = join(root, "agent");
  const artifacts = new Artifacts(place, version, (line) => told.push(line));
  const cache = join(root, "parts");
  mkdirSync(cache);
  const parts = { version, cache, target: artifacts.target, script: "", program: "" };
  return { folder, place, told, artifacts, parts };
}

const printed = (program: string, ...args: string[]): string =>
  spawnSync(program, args, { encoding: "utf8" }).stdout.trim();
const manifestOf = (place: string): { platform: string }[] =>
  (JSON.parse(readFileSync(join(place, "manifest.json"), "utf8")) as { artifacts: { platform: string }[] })
    .artifacts;

describe.skipIf(!hasPrograms("packages of the agent", "dpkg-deb", "rpmbuild", "rpm"))("a package", () => {
  test("of a version before a release comes before the release", async () => {
    const { folder, artifacts, parts } = scene("1.2.0-beta.1");
    await artifacts.make("deb", () => packAgentDeb(folder, "x64", parts));
    await artifacts.make("rpm", () => packAgentRpm(folder, "x64", parts));
    expect(readdirSync(parts.target).toSorted()).toEqual([
      "fleetwright-agent-1.2.0~beta.1-1.x86_64.rpm",
      "fleetwright-agent_1.2.0~beta.1_amd64.deb",
    ]);
    const deb = join(parts.target, "fleetwright-agent_1.2.0~beta.1_amd64.deb");
    const rpm = join(parts.target, "fleetwright-agent-1.2.0~beta.1-1.x86_64.rpm");
    const version = printed("dpkg-deb", "-f", deb, "Version");
    expect(spawnSync("dpkg", ["--compare-versions", version, "lt", "1.2.0"]).status).toBe(0);
    expect(printed("rpm", "-qp", "--qf", "%{VERSION}", rpm)).toBe("1.2.0~beta.1");
    expect(printed("rpm", "--eval", '%{lua:print(rpm.vercmp("1.2.0~beta.1", "1.2.0"))}')).toBe("-1");
    expect(printed("rpm", "-qpl", rpm)).toContain("/opt/fleetwright-agent/1.2.0-beta.1/");
  });

  test("that can't be built is told with the words of the program, and the others are built", async () => {
    const { folder, place, told, artifacts, parts } = scene("1.2(0");
    expect(await artifacts.make("linux-x64.rpm", () => packAgentRpm(folder, "x64", parts))).toBe(false);
    expect(await artifacts.make("linux-x64.deb", () => packAgentDeb(folder, "x64", parts))).toBe(false);
    const other = join(parts.target, "other");
    writeFileSync(other, "other");
    expect(await artifacts.make("node", () => other)).toBe(true);
    artifacts.finish();
    expect(told).toEqual([
      expect.stringMatching(/^Not built: linux-x64\.rpm: rpmbuild ended with 1: .*llegal char.*\.$/),
      expect.stringMatching(/^Not built: linux-x64\.deb: dpkg-deb ended with 2: .*version.*\.$/),
      expect.stringMatching(/^node: /),
      expect.stringMatching(/1 artifacts; not built: linux-x64\.rpm, linux-x64\.deb\.$/),
    ]);
    expect(manifestOf(place).map(({ platform }) => platform)).toEqual(["node"]);
  });
});

describe("building one platform", () => {
  const before = (version: string): string => {
    const { place, artifacts } = scene(version);
    mkdirSync(place);
    const list = ["node", "linux-arm64", "linux-arm64.deb"].map((platform) => {
      writeFileSync(join(place, platform), `${platform} of before`);
      return { platform, file: platform, sha256: "a".repeat(64), size: 1 };
    });
    writeFileSync(join(place, "manifest.json"), JSON.stringify({ version, artifacts: list }));
    expect(artifacts.target).toBe(`${place}.partial`);
    return place;
  };
  const build = (place: string): Promise<void> =>
    buildAgent({ wanted: ["node"], version: "1.2.3", place, tell: () => {} });

  test("leaves what there is of the others", async () => {
    const place = before("1.2.3");
    await build(place);
    const found = manifestOf(place).map(({ platform }) => platform);
    expect(found.toSorted()).toEqual(["linux-arm64", "linux-arm64.deb", "node"]);
    expect(readFileSync(join(place, "linux-arm64"), "utf8")).toBe("linux-arm64 of before");
    expect(readdirSync(place)).toContain("fleetwright-agent-1.2.3-node.tar.gz");
    expect(readdirSync(place)).not.toContain("node");
  });

  test("is refused where the others are of another version, and takes nothing away", async () => {
    const place = before("1.2.2");
    await expect(build(place)).rejects.toThrow(/linux-arm64, linux-arm64\.deb in .* are of version 1\.2\.2/);
    expect(readFileSync(join(place, "node"), "utf8")).toBe("node of before");
  });
});
