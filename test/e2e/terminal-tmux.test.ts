/** `fleetwright terminal` in a terminal that tmux emulates, against a real server and a real agent: what an operator sees. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { eventually, Program, startFleetMember, startServerProcess } from "../support/processes.ts";
import { hasPrograms } from "../support/programs.ts";
import { openSilentPath } from "../support/silent-path.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Tmux } from "../support/tmux.ts";

const main = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));
const manyBytes = 50_000_000;

async function startScene() {
  const folder = temporaryFolder();
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  mkdirSync(work);
  const server = await startServerProcess(join(folder, "data"), 0, {
    FLEETWRIGHT_ALLOWED_HOSTS: "127.0.0.1",
  });
  const agent = await startFleetMember(join(folder, "machine"), server);
  const environment = { FLEETWRIGHT_HOME: home, FLEETWRIGHT_URL: server.url };
  const run = async (...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> => {
    await using program = new Program(args, environment);
    const code = await program.exited();
    return { code, stdout: program.stdout, stderr: program.stderr };
  };
  expect(await run("login", "--key", join(folder, "data", "admin-key"))).toMatchObject({ code: 0 });
  return {
    home,
    work,
    url: server.url,
    run,
    client: server.client,
    /** Kills the server and starts it again, at the same address. */
    restart: async () => {
      await server.program.end("SIGKILL");
      return startServerProcess(join(folder, "data"), Number(new URL(server.url).port));
    },
    /** Runs the command line at a terminal. */
    at: (columns: number, rows: number, ...args: string[]) =>
      new Tmux([process.execPath, main, ...args], { folder, columns, rows, environment }),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const opening = ["terminal", "open", "web-1", "--shell", "/bin/sh"] as const;

/** Text in pieces, and programs that take the whole screen. */
async function useFullScreens(terminal: Tmux, file: string): Promise<void> {
  // A character of four bytes that comes in two frames.
  terminal.enter(
    "clear; printf '\\360\\237'; sleep 0.3; printf '\\216\\211 gr\\303'; sleep 0.3; printf '\\274n\\n'",
  );
  await terminal.shows(/^🎉 grün$/m);

  terminal.enter(`vim -u NONE -i NONE -N ${file}`);
  await terminal.shows(/^~$[^]*file/m);
  expect(terminal.modes).toMatch(/^1/);
  terminal.type("ihello from vim");
  terminal.press("Escape");
  terminal.enter(":wq");
  await terminal.shows(/^at>$/m);
  expect(readFileSync(file, "utf8")).toBe("hello from vim\n");

  terminal.enter("top -d 1");
  await terminal.shows(/^top - .*load average[^]*PID +USER/m);
  terminal.type("q");
  await terminal.shows(/^at>$/m);

  terminal.enter("seq 1 5000 | less");
  await terminal.shows(/^1\n2\n3\n/m);
  terminal.type("G");
  await terminal.shows(/^4999\n5000$/m);
  terminal.type("q");
  await terminal.shows(/^at>$/m);
}

/** The size of the terminal, its keys, and much output. */
async function useItself(terminal: Tmux): Promise<void> {
  terminal.resize(120, 40);
  await eventually("the machine has the size", () => {
    terminal.enter("clear; stty size");
    return /^40 120$/m.test(terminal.screen);
  });

  terminal.enter("clear; echo waits; sleep 1000");
  await terminal.shows(/^waits$/m);
  terminal.press("C-c");
  // What is typed before the shell is back is echoed in front of its prompt.
  await terminal.shows(/^at>$/m);
  terminal.enter("echo code-$?");
  await terminal.shows(/^code-130$/m);

  terminal.enter(`clear; yes '${"x".repeat(98)}' | head -c ${manyBytes}; echo all-$((40+2))`);
  await terminal.shows(/all-42$/m);
}

describe.skipIf(!hasPrograms("a terminal in tmux", "tmux", "vim", "less", "top"))(
  "at a real terminal",
  () => {
    it("an operator works on the machine as at its own, ends with its exit code, and replays it", async () => {
      await using scene = await startScene();
      const file = join(scene.work, "file");
      let sessionId: string;
      {
        using terminal = scene.at(100, 30, ...opening, "--reason", "a look around");
        await terminal.shows(/^[#$]$/m);
        terminal.enter("export PS1='at> '; stty size; echo $FLEETWRIGHT_OPERATOR");
        await terminal.shows(/^30 100\n\w+\nat>$/m);

        await useFullScreens(terminal, file);
        await useItself(terminal);
        const { items } = await scene.client.terminals.list({ status: "active" });
        sessionId = items[0]!.session_id;
        expect(items).toMatchObject([{ viewers: 1, agent_name: "web-1", reason: "a look around" }]);
        terminal.enter("exit 7");
        expect(await terminal.exited()).toBe(7);
        expect(terminal.modes).toMatch(/^0 0/);
      }
      const shown = await scene.run("terminal", "show", sessionId);
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      expect(shown.stdout).toMatch(
        /^status +closed$[^]*^ended by +exit$[^]*^exit code +7$[^]*^recording +complete$/m,
      );
      expect((await scene.run("terminal", "list", "-o", "wide", "--status", "closed")).stdout).toMatch(
        new RegExp(`^${sessionId} .*closed .*exit .*complete .*a look around`, "m"),
      );
      const { stdout: text } = await scene.run("terminal", "replay", sessionId, "--text");
      expect(text.match(/^x{98}$/gm)?.length).toBe(Math.floor(manyBytes / 99));
      // oxlint-disable-next-line no-control-regex -- It looks for control characters.
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      const found = await scene.run("terminal", "replay", sessionId, "--search", "code-130");
      expect(found.stdout).toMatch(/^\d+: code-130$/m);
    }, 180_000);

    it("a program that ends at once shows what it printed, and its exit code is that of the command", async () => {
      await using scene = await startScene();
      {
        using terminal = scene.at(80, 24, "terminal", "open", "web-1", "--shell", "/bin/uname");
        expect(await terminal.exited()).toBe(0);
        expect(terminal.screen).toMatch(/^Linux$/m);
        expect(terminal.screen).not.toContain("closed");
      }
      using terminal = scene.at(80, 24, "terminal", "open", "web-1", "--shell", "/bin/false");
      expect(await terminal.exited()).toBe(1);
      expect(terminal.screen).not.toContain("closed");
    }, 120_000);

    it("of any size a terminal is opened, replayed as it looked, and closed from outside", async () => {
      await using scene = await startScene();
      {
        using terminal = scene.at(1_200, 30, ...opening);
        await terminal.shows(/^[#$]$/m);
        terminal.enter(
          "stty size; printf '\\033]0;hostile\\007\\033]52;c;cm0K\\007\\033[31mred\\033[0m\\033[6n\\n'",
        );
        await terminal.shows(/^30 1000\nred$/m);
        const [{ session_id: sessionId } = { session_id: "" }] = (await scene.client.terminals.list()).items;
        expect(await scene.run("terminal", "close", sessionId)).toMatchObject({ code: 0 });
        expect(await terminal.exited()).toBe(129);
        expect(terminal.screen).toContain("The terminal ended: closed.");
      }
      const [{ session_id: sessionId } = { session_id: "" }] = (await scene.client.terminals.list()).items;
      using replay = scene.at(100, 30, "terminal", "replay", sessionId, "--speed", "100");
      expect(await replay.exited()).toBe(0);
      expect(replay.screen).toMatch(/^30 1000\nred$/m);
    }, 120_000);

    it("why it ended is said where a program had the whole screen, and where the server was killed and is back", async () => {
      const holdScreen = "printf '\\033[?1049h'; echo in\"\"side; sleep 100";
      await using scene = await startScene();
      {
        using terminal = scene.at(80, 24, ...opening);
        await terminal.shows(/^[#$]$/m);
        terminal.enter(holdScreen);
        await terminal.shows(/^inside$/m);
        const [{ session_id: sessionId } = { session_id: "" }] = (await scene.client.terminals.list()).items;
        await scene.client.terminals.close(sessionId);
        expect(await terminal.exited()).toBe(129);
        expect(terminal.screen).toContain("The terminal ended: closed.");
      }
      using terminal = scene.at(80, 24, ...opening);
      await terminal.shows(/^[#$]$/m);
      terminal.enter(holdScreen);
      await terminal.shows(/^inside$/m);
      await using _back = await scene.restart();
      expect(await terminal.exited()).toBe(1);
      expect(terminal.screen).toContain("The terminal ended: server_lost.");
    }, 120_000);

    it("why it can't be come back to is said where the operator was removed while the connection was gone", async () => {
      await using scene = await startScene();
      await using path = await openSilentPath(Number(new URL(scene.url).port));
      const key = /\b[0-9a-f]{64}\b/.exec((await scene.run("init", "--username", "ada")).stdout)?.[0] ?? "";
      const { operators } = scene.client;
      const ada = await operators.add({ username: "ada", public_key: key, role: "Operator" });
      const through = ["--url", `http://127.0.0.1:${path.port}`];
      expect(await scene.run("login", "--key", join(scene.home, "key"), ...through)).toMatchObject({
        code: 0,
      });
      using terminal = scene.at(80, 24, ...opening, ...through);
      await terminal.shows(/^[#$]$/m);
      path.cut();
      path.end();
      await operators.remove(ada.operator_id);
      path.mend();
      path.end();
      expect(await terminal.exited()).toBe(1);
      expect(terminal.screen).toContain(
        "The terminal can't be attached to again: The signature does not match.",
      );
      expect(terminal.screen).not.toContain("can't be reached");
    }, 120_000);

    it("a connection that breaks off and comes back goes on where it was", async () => {
      await using scene = await startScene();
      await using path = await openSilentPath(Number(new URL(scene.url).port));
      // Long enough that no line goes off it, however often the shell is called while the connection is gone.
      using terminal = scene.at(80, 1_000, ...opening, "--url", `http://127.0.0.1:${path.port}`);
      await terminal.shows(/^[#$]$/m);
      for (const round of [1, 2]) {
        terminal.enter(`for i in a b c; do echo ${round}-$i; done`);
        await terminal.shows(new RegExp(`^${round}-c$`, "m"));
        path.cut();
        path.end();
        path.mend();
        await eventually("the shell is back", () => {
          terminal.enter(`echo back-$((${round}+40))`);
          return terminal.screen.includes(`back-${round + 40}`);
        });
      }
      // Where a loop is typed while the shell has not asked yet, what it prints stands behind its prompts.
      const lines = [...terminal.screen.matchAll(/^(?:[#$] )*([12]-[abc])$/gm)].map(([, line]) => line);
      expect(lines, terminal.screen).toEqual(["1-a", "1-b", "1-c", "2-a", "2-b", "2-c"]);
    }, 120_000);

    it("a replay that is broken off by Ctrl-C leaves the terminal as before", async () => {
      await using scene = await startScene();
      {
        using terminal = scene.at(80, 24, ...opening);
        await terminal.shows(/^[#$]$/m);
        terminal.enter("printf '\\033[?1049h\\033[?25l'; echo hid\"\"den; sleep 5; echo on");
        await terminal.shows(/^on$/m);
        terminal.press("C-]", "C-]");
        expect(await terminal.exited()).toBe(0);
      }
      const [{ session_id: sessionId } = { session_id: "" }] = (await scene.client.terminals.list()).items;
      using replay = scene.at(80, 24, "terminal", "replay", sessionId, "--speed", "0.5");
      await replay.shows(/^hidden$/m);
      expect(replay.modes).toBe("1 0 0");
      replay.press("C-c");
      expect(await replay.exited()).toBe(130);
      await eventually("the terminal is as before", () => replay.modes === "0 0 1");
    }, 120_000);

    it("without one, and by Ctrl-] twice, nothing is left behind", async () => {
      await using scene = await startScene();
      const refused = await scene.run(...opening);
      expect(refused).toMatchObject({ code: 2 });
      expect(refused.stderr).toContain("standard input and output must be one");
      using terminal = scene.at(80, 24, ...opening);
      await terminal.shows(/^[#$]$/m);
      terminal.press("C-]", "C-]");
      expect(await terminal.exited()).toBe(0);
      expect((await scene.client.terminals.list()).items).toMatchObject([
        { status: "closed", close_reason: "closed" },
      ]);
    }, 120_000);
  },
);
