/**
 * The Containerfile, step by step in folders of its own: no builder of images is needed. What it copies is copied, the build it runs is run,
 * and what it starts is started. Not run are `npm ci` and `npm prune`, which want the registry, and the commands of Debian.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { nodeVersion } from "../../packaging/node.ts";
import { repository } from "../architecture/source-tree.ts";
import { copyOf, stagesOf, textsOf, wordsOf } from "../support/containerfile.ts";
import { freePort } from "../support/free-port.ts";
import { eventually } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const [build = [], image = []] = stagesOf(
  readFileSync(join(repository, "packaging/server/Containerfile"), "utf8"),
);
const { scripts } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

test("both stages have the Node of the packages", () => {
  const bases = [build, image].flatMap((stage) => textsOf(stage, "FROM"));
  expect(bases).toEqual([
    `docker.io/library/node:${nodeVersion}-bookworm-slim AS build`,
    `docker.io/library/node:${nodeVersion}-bookworm-slim`,
  ]);
});

test("the image runs as nobody who is root, holds no secret, and stops by the signal that the server drains on", () => {
  expect(textsOf(image, "USER")).toEqual(["4748:4748"]);
  expect(textsOf(image, "VOLUME")).toEqual(["/var/lib/fleetwright"]);
  expect(textsOf(image, "STOPSIGNAL")).toEqual(["SIGTERM"]);
  expect([...build, ...image].filter(({ text }) => /token|secret|password|\bkey\b/i.test(text))).toEqual([]);
});

test(
  "what is copied is there, the build runs on it alone, and the server that it starts is healthy and ends when it is told to",
  { timeout: 240_000 },
  async () => {
    const folders = { build: join(temporaryFolder(), "build"), image: join(temporaryFolder(), "image") };
    for (const folder of Object.values(folders)) mkdirSync(folder);
    const place = (from: string, source: string, to: string): void => {
      const isFolder = to.endsWith("/");
      cpSync(join(from, source), isFolder ? join(to, basename(source)) : to, { recursive: true });
    };
    const run = (command: string): void => {
      const { status, stdout, stderr } = spawnSync(command, {
        shell: true,
        cwd: folders.build,
        encoding: "utf8",
      });
      expect([command, status, status === 0 ? "" : stdout + stderr]).toEqual([command, 0, ""]);
    };
    for (const { name, text } of build) {
      if (name === "COPY")
        for (const source of copyOf(text).sources)
          place(repository, source, join(folders.build, copyOf(text).target));
      if (text === "npm ci")
        symlinkSync(join(repository, "node_modules"), join(folders.build, "node_modules"));
      if (text === "npm run build") {
        // It goes on from the build that is here: what did not change is not compiled again.
        for (const part of [".tsbuildinfo", "lib", "adapters", "examples"])
          place(join(repository, "dist"), part, join(folders.build, "dist/"));
        run(text);
      }
      // The form that needs neither registry nor time.
      if (text === "npm run build:agent") run(`${text} -- node`);
    }
    const commands = textsOf(build, "RUN");
    expect(commands).toEqual(["npm ci", "npm run build", "npm run build:agent", "npm prune --omit=dev"]);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["build", "build:agent"]));

    for (const { isFromBuild, sources, target } of textsOf(image, "COPY").map(copyOf)) {
      const from = isFromBuild ? folders.build : repository;
      for (const source of sources.map((each) => each.replace(/^\/build\//, ""))) {
        expect(existsSync(join(from, source)), source).toBe(true);
        if (source === "node_modules") symlinkSync(join(repository, source), join(folders.image, source));
        else place(from, source, join(folders.image, target));
      }
    }

    const inImage = (word: string): string => word.replace("/usr/lib/fleetwright", folders.image);
    const [node, ...start] = [...textsOf(image, "ENTRYPOINT"), ...textsOf(image, "CMD")]
      .flatMap(wordsOf)
      .map(inImage);
    const variables = Object.fromEntries(
      textsOf(image, "ENV").map((text) => text.split("=") as [string, string]),
    );
    const dataDir = join(temporaryFolder(), "data");
    const port = String(await freePort());
    const env = {
      PATH: process.env["PATH"],
      ...variables,
      FLEETWRIGHT_DATA_DIR: dataDir,
      FLEETWRIGHT_PORT: port,
    };
    const [check, script = ""] = wordsOf(textsOf(image, "HEALTHCHECK")[0] ?? "");
    const isHealthy = (): boolean => spawnSync(process.execPath, [inImage(script)], { env }).status === 0;
    expect([node, check]).toEqual(["node", "node"]);
    expect(isHealthy()).toBe(false);

    const server = spawn(process.execPath, start, { env, stdio: "ignore" });
    const ended = once(server, "exit");
    try {
      await eventually("the server is healthy", isHealthy);
      expect(existsSync(join(dataDir, "tls/ca.pem"))).toBe(true);
    } finally {
      server.kill("SIGTERM");
    }
    expect(await ended).toEqual([0, null]);
  },
);
