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
const wait = lines.find(({ page, line }) => page.endsWith("/run-the-server.md") && line.includes("readyz"))!;

/** Runs the line of the page against another port, with fewer attempts. */
async function run(port: number, attempts: number): Promise<{ code: number; stdout: string }> {
  const command = wait.line.replace("4748", String(port)).replace(/--retry \d+/, `--retry ${attempts}`);
  const child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (stdout += piece));
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout };
}

describe("what waits for the server on a page", () => {
  it("is no loop that a server which never comes keeps running", () => {
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter(({ line }) => /^\s*(?:until|while) /.test(line))).toEqual([]);
  });

  it("ends with an error where no server comes", { timeout: 30_000 }, async () => {
    expect(await run(await freePort(), 1)).toEqual({ code: 7, stdout: "" });
  });

  it("prints the answer of a server that comes, and is not ready at first", { timeout: 60_000 }, async () => {
    const port = await freePort();
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.statusCode = asked === 1 ? 503 : 200;
      response.end(asked === 1 ? "not yet" : '{"status":"ok"}');
    });
    onTestFinished(() => void server.close());
    const found = run(port, 40);
    server.listen(port, "127.0.0.1");
    expect(await found).toEqual({ code: 0, stdout: '{"status":"ok"}' });
    expect(asked).toBe(2);
  });
});
