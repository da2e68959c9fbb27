/** What the pages have their readers wait with: it ends, whether the server comes or not. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { repository } from "../architecture/source-tree.ts";
import { freePort } from "../support/free-port.ts";
import { blocksOf } from "../support/pages.ts";

const pages = ["docs", "docs/how-to"].flatMap((folder) =>
  readdirSync(join(repository, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`),
);
const lines = pages.flatMap((page) =>
  blocksOf(page)
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.split("\n").map((line) => ({ page, line }))),
);
/** After an upgrade and on the way back: an older unit starts a server without waiting for it. */
const waitsOfUpgrades = lines
  .filter(({ page, line }) => page.endsWith("/upgrade.md") && line.includes("readyz"))
  .map(({ line }) => line);
const waits = [...new Set(waitsOfUpgrades)];

/** Runs a line of the page against another port, with fewer attempts. */
async function run(line: string, port: number, attempts: number): Promise<{ code: number; stdout: string }> {
  const command = line.replace("4748", String(port)).replace(/--retry \d+/, `--retry ${attempts}`);
  const child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (stdout += piece));
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout };
}

it.each(["Upgrade", "Go back"])("a server from a checkout gets its unit with its program: %s", (section) => {
  const blocks = blocksOf("docs/how-to/upgrade.md").filter((block) => block.section === section);
  const [install, unit, start] = ["npm install", "daemon-reload", "readyz"].map((part) =>
    blocks.findIndex(({ text }) => text.includes(part)),
  );
  expect(unit).toBe(install! + 1);
  expect(start).toBeGreaterThan(unit!);
  const first = blocksOf("docs/how-to/run-the-server.md").flatMap(({ text }) => text.split("\n"));
  const lines = blocks[unit!]!.text.trim().split("\n");
  expect(lines).toEqual([first.find((line) => line.startsWith("sed ")), "systemctl daemon-reload"]);
});

describe("what waits for the server on a page", () => {
  it("is no loop that a server which never comes keeps running", () => {
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter(({ line }) => /^\s*(?:until|while) /.test(line))).toEqual([]);
  });

  it("is on the page of upgrades once for each way", () => {
    expect(waitsOfUpgrades).toHaveLength(2);
  });

  it.each(waits)("ends with an error where no server comes: %s", async (line) => {
    expect(await run(line, await freePort(), 1)).toEqual({ code: 7, stdout: "" });
  });

  const comes = "prints the answer of a server that comes, and is not ready at first: %s";
  it.each(waits)(comes, { timeout: 120_000 }, async (line) => {
    const port = await freePort();
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.statusCode = asked === 1 ? 503 : 200;
      response.end(asked === 1 ? "not yet" : '{"status":"ok"}');
    });
    onTestFinished(() => void server.close());
    const found = run(line, port, 40);
    server.listen(port, "127.0.0.1");
    expect(await found).toEqual({ code: 0, stdout: '{"status":"ok"}' });
    expect(asked).toBe(2);
  });
});
