/** Completion in the real shells: what the program is called with after somebody has pressed Tab. */
import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasPrograms } from "../../support/programs.ts";
import { ShellLine } from "../../support/shell-line.ts";

/** Names that somebody may have given a machine on purpose; each begins with letters of its own. */
const names = [
  "aa web 1",
  "bb:web:1",
  "cc=x",
  "dd$(touch hacked)",
  "ee`touch hacked`",
  "ff'single",
  'gg"double',
  "hh;touch hacked",
  "ii\\back\\slash",
  "jj*?[x]{1,2}",
  "kk%F{red}%n",
  "ll grün 🎉",
  "mm!ls#x&|<>~^",
  "nn@host",
];
/** What no shell is told. */
const refused = ["xx\u001b[31mred", "xx\nnew line", "xx\ttab", "xx\u0007", "xx\u202eevil", "-xx"];

/** A server that tells of these machines; the requests that came to it. */
async function startHostile(answer?: RequestListener): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    if (answer) return answer(request, response);
    const items = [...names, ...refused].map((name) => ({
      name,
      hostname: "h",
      node_id: "0",
      status: "approved",
    }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ items, next_cursor: null }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

// The shell gets no names where the server takes longer than 0.8 s, as on a machine that has more to do than it can.
describe.each(["bash", "zsh", "fish"] as const)("%s", { retry: 3 }, (shell) => {
  const isThere = hasPrograms(`completion in ${shell}`, shell, "tmux");

  it.runIf(isThere)("completes commands, options and their values", async () => {
    using line = await new ShellLine(shell, null).ready();
    expect(await line.complete("fleetwright agen")).toEqual(["agent"]);
    expect(await line.complete("fleetwright agents appr")).toEqual(["agents", "approve"]);
    expect(await line.complete("fleetwright agents list --sel")).toEqual(["agents", "list", "--selector"]);
    expect(await line.complete("fleetwright agents list --output j")).toEqual([
      "agents",
      "list",
      "--output",
      "json",
    ]);
    expect(await line.complete("fleetwright agents list --output=j")).toEqual([
      "agents",
      "list",
      "--output=json",
    ]);
    expect(await line.complete("fleetwright -o yaml modules upl")).toEqual([
      "-o",
      "yaml",
      "modules",
      "upload",
    ]);
    writeFileSync(join(line.folder, "work/a module.yml"), "");
    expect(await line.complete("fleetwright modules upload a")).toEqual([
      "modules",
      "upload",
      "a module.yml",
    ]);
  });

  it.runIf(isThere)("completes names as they are, whatever stands in them, by one call each", async () => {
    const { url, asked } = await startHostile();
    using line = await new ShellLine(shell, url).ready();
    for (const name of names)
      expect(await line.complete(`fleetwright agents show ${name.slice(0, 2)}`)).toEqual([
        "agents",
        "show",
        name,
      ]);
    expect(asked).toHaveLength(names.length);
    expect(asked[0]).toBe("GET /api/v1/agents?search=aa&limit=500 Bearer a-token");
    expect(await line.complete("fleetwright agents show bb:web:")).toEqual(["agents", "show", "bb:web:1"]);
    expect(await line.complete("fleetwright operations list --agent=aa")).toEqual([
      "operations",
      "list",
      "--agent=aa web 1",
    ]);
    expect(await line.complete("fleetwright agents approve 'aa web 1' dd")).toEqual([
      "agents",
      "approve",
      "aa web 1",
      names[3],
    ]);
    expect(await line.complete("fleetwright agents show xx")).toEqual(["agents", "show", "xx"]);
    expect(readdirSync(join(line.folder, "work"))).toEqual([]);
  });

  it.runIf(isThere)("completes within quotes", async () => {
    const { url } = await startHostile();
    using line = await new ShellLine(shell, url).ready();
    for (const quote of ["'", '"'])
      for (const name of names.slice(0, 8))
        expect(await line.complete(`fleetwright agents show ${quote}${name.slice(0, 2)}`)).toEqual([
          "agents",
          "show",
          name,
        ]);
    expect(readdirSync(join(line.folder, "work"))).toEqual([]);
  });

  it.runIf(isThere)("leaves a line as it is, soon and without a word, where there are no names", async () => {
    const silent = await startHostile(() => {});
    const refusing = await startHostile((_, response) => void response.writeHead(500).end("\u001b[2Jno"));
    for (const url of [silent.url, refusing.url, "http://127.0.0.1:1", null]) {
      using line = await new ShellLine(shell, url).ready();
      const begun = performance.now();
      expect(await line.complete("fleetwright agents show aa")).toEqual(["agents", "show", "aa"]);
      expect(performance.now() - begun).toBeLessThan(5_000);
      expect(line.terminal.screen).not.toMatch(/error|Error|fleetwright:|no\b/);
    }
  });
});
