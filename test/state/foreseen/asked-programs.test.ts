/** What a program alone would refuse: the plan asks it, changes nothing, and says what it says. */
import { describe, expect, test } from "vitest";
import type { DownloadQuestion } from "../../../lib/host/host.ts";
import { type MemoryDownload, MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { AptMachine } from "../../support/machine/apt.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { createMachine, declare, StateFixture } from "../../support/state-fixture.ts";

const changing = ({ writes }: MemoryHost): unknown[] => writes.filter(({ call }) => call !== "run");

async function plan(host: MemoryHost, definitions: JsonObject[], module = "m"): Promise<ResourceResult[]> {
  const before = changing(host).length;
  const { results } = await new StateFixture(host).run("plan", declare(definitions, module));
  const own = changing(host).slice(before) as { path: string }[];
  expect(own.filter(({ path }) => !path.startsWith("/.fleetwright-"))).toEqual([]);
  expect(host.files.list("/").filter((name) => name.startsWith(".fleetwright"))).toEqual([]);
  return results;
}

const nope = { id: "p", type: "package", name: "nope" };

describe("a package that nobody knows", () => {
  const archive = { nginx: ["1.22"] };

  test("fails in the words of the package manager, as the apply does", async () => {
    const machine = new AptMachine({ archive });
    const [result] = await plan(machine.host, [nope]);
    expect(result).toMatchObject({
      outcome: "failed",
      code: "HOST_ERROR",
      message: expect.stringContaining("E: Unable to locate package nope"),
    });
    expect(machine.commands).toEqual([]);
    const { results } = await new StateFixture(machine.host).run("apply", declare([nope]));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  });

  test.each([
    ["a version", { name: "nginx", version: "9" }],
    ["an odd name", { name: "nginx-" }],
    ["one of several", { name: ["nginx", "nope"] }],
  ])("fails for %s, too", async (_what, more) => {
    const machine = new AptMachine({ archive });
    machine.install("nginx", "1.22");
    const [result] = await plan(machine.host, [{ id: "p", type: "package", ...more }]);
    expect(result?.outcome).toBe("failed");
  });

  test("is unknown where the index is old: the apply fetches it first", async () => {
    const machine = new AptMachine({ archive, fresh: false });
    const [result] = await plan(machine.host, [{ id: "p", type: "package", name: "nginx" }]);
    expect(result).toMatchObject({
      outcome: "unknown",
      action: "create",
      message: expect.stringMatching(/index up to date first.*Unable to locate package nginx/),
    });
    expect(result).not.toHaveProperty("until");
    expect(machine.commands).toEqual([]);
  });

  const source = { id: "s", type: "package_repository", name: "own", uris: ["https://deb.example/"] };
  test.each<[string, JsonObject]>([
    ["a source", source],
    ["a file among the sources", { id: "s", type: "file", path: "/etc/apt/sources.list.d/own.list" }],
    ["a script", { id: "s", type: "script", run: "true", creates: "/never" }],
  ])("is unknown until %s that comes before is done", async (_what, before) => {
    const [, result] = await plan(wholeMachine(), [before, nope]);
    expect(result).toMatchObject({ outcome: "unknown", until: "s" });
  });

  test("fails after a file that has nothing to do with it", async () => {
    const [, result] = await plan(wholeMachine(), [{ id: "f", type: "file", path: "/srv/x" }, nope]);
    expect(result).toMatchObject({ outcome: "failed" });
  });

  test("may have a newer version where a source changes", async () => {
    const host = wholeMachine({ hasCron: true });
    const latest = { id: "p", type: "package", name: "cron", ensure: "latest" };
    expect((await plan(host, [latest]))[0]).toMatchObject({ outcome: "unchanged" });
    expect((await plan(host, [source, latest]))[1]).toMatchObject({ outcome: "unknown", until: "s" });
  });
});

describe("a user that useradd would refuse", () => {
  const user = (more: JsonObject): JsonObject => ({ id: "u", type: "user", name: "deploy", ...more });

  test.each<[string, JsonObject, string]>([
    ["a number that is taken", { uid: 0 }, "The number 0 belongs to the user root."],
    ["a primary group of nobody", { group: "nobodys" }, 'There is no group "nobodys".'],
    ["a primary group by a number of nobody", { group: "4242" }, 'There is no group "4242".'],
    ["a supplementary group of nobody", { groups: ["nobodys"] }, 'There is no group "nobodys".'],
  ])("fails: %s", async (_what, more, message) => {
    const host = wholeMachine();
    const [result] = await plan(host, [user(more)]);
    expect(result).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message });
    const { results } = await new StateFixture(host).run("apply", declare([user(more)]));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message });
  });

  test("is known where its group comes before, and unknown where a package may bring it", async () => {
    const group = { id: "g", type: "group", name: "ops" };
    const [, known] = await plan(wholeMachine(), [group, user({ groups: ["ops"] })]);
    expect(known).toMatchObject({ outcome: "would_change", action: "create" });
    const [, waits] = await plan(wholeMachine(), [
      { id: "w", type: "package", name: "web" },
      user({ groups: ["web"] }),
    ]);
    expect(waits).toMatchObject({ outcome: "unknown", until: "w" });
  });
});

describe("a file that a program would not accept", () => {
  const judged = (content: string, more: JsonObject = {}): JsonObject => {
    return { id: "f", type: "file", path: "/etc/app/conf", content, validate: ["judge", "%"], ...more };
  };
  const machine = (): MemoryHost => {
    const host: MemoryHost = createMachine({
      judge({ argv: [, path = ""] }) {
        const text = Buffer.from(host.files.readFile(path)).toString();
        // What it writes there is the copy's end, not the file's.
        host.files.writeFile(path, Buffer.from("spoiled"), {});
        host.files.writeFile(`${path}.bak`, Buffer.from("left behind"), {});
        const included = path.replace(/[^/]+$/, "more");
        if (text.includes("include") && !host.files.stat(included)) return { exitCode: 1 };
        return { exitCode: text.includes("bad") ? 1 : 0 };
      },
    });
    for (const folder of ["/etc", "/etc/app"]) host.files.makeDirectory(folder, { mode: 0o755 });
    return host;
  };

  test("fails in the plan as in the apply, and one that it accepts is made as it is declared", async () => {
    const host = machine();
    const [bad] = await plan(host, [judged("bad\n")]);
    expect(bad).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    expect(bad?.message).toBe("judge does not accept the content of /etc/app/conf.");
    const [good] = await plan(host, [judged("good\n")]);
    expect(good).toMatchObject({ outcome: "would_change", action: "create" });
    expect(host.files.list("/etc/app")).toEqual([]);
    const state = new StateFixture(host);
    const { results } = await state.run("apply", declare([judged("bad\n")]));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
  });

  test("finds beside the copy what stands beside the file", async () => {
    const host = machine();
    expect((await plan(host, [judged("include\n")]))[0]?.outcome).toBe("failed");
    host.files.writeFile("/etc/app/more", Buffer.from("x"), {});
    expect((await plan(host, [judged("include\n")]))[0]?.outcome).toBe("would_change");
    expect(host.files.list("/etc/app")).toEqual(["more"]);
  });

  test("waits for what is made beside it, and for what it requires", async () => {
    const more = { id: "more", type: "file", path: "/etc/app/more", content: "x" };
    const [, beside] = await plan(machine(), [more, judged("include\n")]);
    expect(beside).toMatchObject({ outcome: "unknown", until: "more" });
    const other = { ...more, path: "/etc/other" };
    expect((await plan(machine(), [other, judged("include\n")]))[1]?.outcome).toBe("failed");
    const [, named] = await plan(machine(), [other, judged("include\n", { requires: ["more"] })]);
    expect(named).toMatchObject({ outcome: "unknown", until: "more" });
  });

  test("waits for the program, which an earlier resource brings", async () => {
    const absent = { validate: ["visudo", "-cf", "%"] };
    const host = createMachine();
    for (const folder of ["/etc", "/etc/app", "/bin"]) host.files.makeDirectory(folder, { mode: 0o755 });
    expect((await plan(host, [judged("x", absent)]))[0]).toMatchObject({
      outcome: "failed",
      code: "HOST_ERROR",
    });
    const script = { id: "s", type: "script", run: "true", creates: "/never" };
    expect((await plan(host, [script, judged("x", absent)]))[1]).toMatchObject({
      outcome: "unknown",
      until: "s",
    });
    const program = { id: "b", type: "file", path: "/bin/judge", content: "#!/bin/sh\n", mode: "0755" };
    const own = judged("x", { validate: ["/bin/judge", "%"] });
    expect((await plan(host, [program, own]))[1]).toMatchObject({ outcome: "unknown", until: "b" });
  });
});

describe("a file to download", () => {
  const url = "http://files.test/x.tar.gz";
  const content = Buffer.from("hello");
  const sha256 = new MemoryHost().sha256(content);
  const machine = (downloads: Record<string, MemoryDownload> = {}): MemoryHost => {
    const host = new MemoryHost({ downloads, programs: { "/bin/sh": () => ({}) } });
    for (const folder of ["/etc", "/srv"]) host.files.makeDirectory(folder, { mode: 0o755 });
    host.files.writeFile("/etc/hosts", Buffer.from("127.0.0.1 localhost\n"), {});
    return host;
  };
  const kinds: [string, JsonObject][] = [
    ["download", { type: "download", path: "/srv/x", url, sha256 }],
    ["file", { type: "file", path: "/srv/x", source: url, sha256 }],
    ["archive", { type: "archive", path: "/srv/x", source: url, sha256 }],
  ];

  test.each(kinds)("of a %s that its server has is known; one that it has not fails", async (_kind, more) => {
    const [known] = await plan(machine({ [url]: content }), [{ id: "d", ...more }]);
    expect(known).toMatchObject({ outcome: "would_change", action: "create" });
    const [none] = await plan(machine(), [{ id: "d", ...more }]);
    expect(none).toMatchObject({
      outcome: "failed",
      code: "DOWNLOAD_FAILED",
      message: `${url} can't be downloaded: the server answered 404.`,
    });
    const { results } = await new StateFixture(machine()).run("apply", declare([{ id: "d", ...more }]));
    expect(results[0]?.code).toBe("DOWNLOAD_FAILED");
  });

  test.each(kinds)(
    "of a %s is unknown where the server does not tell, or nobody can ask it",
    async (_kind, more) => {
      for (const why of ["It says nothing.", null]) {
        const host = machine({ [url]: content });
        const askDownload = why === null ? undefined : () => Promise.resolve(why);
        Object.defineProperty(host, "askDownload", { value: askDownload });
        const [result] = await plan(host, [{ id: "d", ...more }]);
        const message = why ?? "Whether it can be downloaded can't be told: nobody can be asked.";
        expect(result).toMatchObject({ outcome: "unknown", action: "create", message });
        expect(result).not.toHaveProperty("until");
      }
    },
  );

  test.each<[string, JsonObject, string]>([
    ["a script", { type: "script", run: "true", creates: "/never" }, "unknown"],
    ["an entry of the hosts", { type: "host_entry", name: "files.test", ip: "10.0.0.5" }, "unknown"],
    ["a file elsewhere", { type: "file", path: "/srv/other" }, "failed"],
  ])("that can't be had may be there after %s", async (_what, before, outcome) => {
    const [, result] = await plan(machine(), [
      { id: "b", ...before },
      { id: "d", type: "download", path: "/srv/x", url, sha256 },
    ]);
    expect([result?.outcome, result?.until]).toEqual([outcome, outcome === "unknown" ? "b" : undefined]);
  });

  test("that a program has to judge is unknown: nobody has it yet", async () => {
    const file = { type: "file", path: "/srv/x", source: url, sha256, validate: ["judge", "%"] };
    const [result] = await plan(machine({ [url]: content }), [{ id: "d", ...file }]);
    expect(result).toMatchObject({
      outcome: "unknown",
      message: "judge can't be asked about the content: it has to be downloaded first.",
    });
  });

  test("is asked for once by all who need it, and not at all by who has it", async () => {
    let asked = 0;
    const host = machine({ [url]: content });
    const askDownload = (): Promise<null> => ((asked += 1), Promise.resolve(null));
    Object.defineProperty(host, "askDownload", { value: askDownload });
    const places = ["/srv/x", "/srv/y"].map((path) => ({ id: path, type: "download", path, url, sha256 }));
    expect((await plan(host, places)).map(({ outcome }) => outcome)).toEqual([
      "would_change",
      "would_change",
    ]);
    expect(asked).toBe(1);
    for (const path of ["/srv/x", "/srv/y"]) host.files.writeFile(path, content, { mode: 0o644 });
    expect((await plan(host, places)).map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
    expect(asked).toBe(1);
  });

  test("is asked for anew with another limit: one that is too small fails alone", async () => {
    const host = machine({ [url]: content });
    const questions: DownloadQuestion[] = [];
    const ask = host.askDownload.bind(host);
    const askDownload: MemoryHost["askDownload"] = (question, signal) => {
      questions.push(question);
      return ask(question, signal);
    };
    Object.defineProperty(host, "askDownload", { value: askDownload });
    const others = [{}, { max_size_bytes: 4 }, { headers: { accept: "a/b" } }, {}];
    const files = others.map((more, at) => {
      const each = { id: `f${at}`, type: "download", path: `/srv/${at}`, url, sha256 };
      return { ...each, on_failure: "continue", ...more };
    });
    expect((await plan(host, files)).map(({ outcome }) => outcome)).toEqual([
      "would_change",
      "failed",
      "would_change",
      "would_change",
    ]);
    expect(questions).toHaveLength(3);
    expect(questions).toMatchObject([{ url }, { url, maxBytes: 4 }, { url, headers: { accept: "a/b" } }]);
  });

  test("is asked for again by the next who needs it, where the time of the first was over", async () => {
    const host = machine({ [url]: content });
    const clock = new FakeClock();
    const ask = host.askDownload.bind(host);
    let asked = 0;
    const askDownload: MemoryHost["askDownload"] = (question, signal) => {
      asked += 1;
      if (asked > 1) return ask(question, signal);
      return new Promise((_answer, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    };
    Object.defineProperty(host, "askDownload", { value: askDownload });
    const files = ["a", "b"].map((id) => {
      const each = { id, type: "download", path: `/srv/${id}`, url, sha256 };
      return { ...each, on_failure: "continue", timeout_seconds: 5 };
    });
    const planning = new StateFixture(host, clock).run("plan", declare(files));
    await expect.poll(() => asked, { timeout: 60_000 }).toBe(1);
    await clock.advance(5_000);
    expect((await planning).results).toMatchObject([
      { outcome: "failed", code: "RESOURCE_TIMEOUT" },
      { outcome: "would_change" },
    ]);
  });
});

test("of a sensitive resource a plan does not say what nobody can tell", async () => {
  const machine = new AptMachine({ archive: {}, fresh: false });
  const [result] = await plan(machine.host, [{ ...nope, sensitive: true }]);
  expect(result).toMatchObject({ outcome: "unknown", message: "It can't be known before it is done." });
});
