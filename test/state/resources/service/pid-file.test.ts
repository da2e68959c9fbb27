import { expect, test } from "vitest";
import { serviceResourceType } from "../../../../lib/state/resources/service.ts";
import { ServiceMachine } from "../../../support/machine/services.ts";

/** Path -> what it holds; "@x" is a link to x. */
type Files = Record<string, string>;

const rows: [name: string, init: "sysvinit" | "openrc", files: Files, run: string | null][] = [
  ["the usual file", "sysvinit", { "/run/web.pid": "500\n" }, "500 7"],
  ["who started it", "sysvinit", { "/run/web.pid": "400\n" }, "400 3"],
  ["a folder of its own", "sysvinit", { "/run/web/web.pid": " 500" }, "500 7"],
  ["the older place", "sysvinit", { "/var/run/web.pid": "500 \n" }, "500 7"],
  [
    "a file behind one of an earlier run",
    "sysvinit",
    { "/run/web.pid": "5000\n", "/run/web/web.pid": "500\n" },
    "500 7",
  ],
  ["a file behind an empty one", "sysvinit", { "/run/web.pid": "", "/var/run/web.pid": "500\n" }, "500 7"],
  ["another process", "sysvinit", { "/run/web.pid": "5000\n" }, null],
  ["the machine's first process", "sysvinit", { "/run/web.pid": "1\n" }, null],
  ["no number", "sysvinit", { "/run/web.pid": "x500\n" }, null],
  ["a link", "sysvinit", { "/run/other.pid": "500\n", "/run/web.pid": "@/run/other.pid" }, null],
  ["another service", "sysvinit", { "/run/other.pid": "500\n" }, null],
  ["nothing", "openrc", {}, null],
  ["the usual file", "openrc", { "/run/web.pid": "500\n" }, "500 7"],
  [
    "the file that its script names",
    "openrc",
    { "/run/openrc/options/web/pidfile": "/run/x.pid", "/run/x.pid": "500\n" },
    "500 7",
  ],
  [
    "the file of a daemon that was started for it",
    "openrc",
    {
      "/run/openrc/daemons/web/001": "exec=/usr/bin/other\npidfile=\n",
      "/run/openrc/daemons/web/002": "exec=/usr/bin/web\npidfile=/run/x.pid\n",
      "/run/x.pid": "500\n",
    },
    "500 7",
  ],
  [
    "a name that is no path",
    "openrc",
    { "/run/openrc/options/web/pidfile": "x.pid", "/x.pid": "500\n" },
    null,
  ],
];

test.each(rows)(
  "the agent's own service is known by its pid file: %s, with %s",
  async (_name, init, files, run) => {
    const machine = new ServiceMachine(init);
    Object.assign(machine.own, {
      line: [
        { pid: 500, begun: 7 },
        { pid: 400, begun: 3 },
      ],
    });
    const { host } = machine;
    for (const [path, content] of Object.entries(files)) {
      const parts = path.split("/").slice(1, -1);
      for (let depth = 1; depth <= parts.length; depth += 1) {
        const folder = `/${parts.slice(0, depth).join("/")}`;
        if (!host.files.stat(folder)) host.files.makeDirectory(folder, { mode: 0o755 });
      }
      if (content.startsWith("@")) host.files.makeSymlink(path, content.slice(1));
      else host.files.writeFile(path, Buffer.from(content), { mode: 0o644 });
    }
    const { signal } = new AbortController();
    const spec = { name: "web", running: true };
    expect(await serviceResourceType.ending?.ownRun(spec, host, signal)).toBe(run);
  },
);
