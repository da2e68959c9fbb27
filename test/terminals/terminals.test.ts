import { describe, expect, it, vi } from "vitest";
import { openTerminal, textOf } from "../support/open-terminal.ts";

describe("a terminal", () => {
  it("runs a shell that is typed to, resized, recorded and ends with its exit code", async () => {
    await using scene = await openTerminal();
    const { terminals, operator, opened } = scene;
    const viewer = scene.attach(opened.ticket);
    await viewer.next("opened");
    viewer.type("echo $FLEETWRIGHT_OPERATOR-$((40+2)); stty size\n");
    await viewer.shows(/ada-42\r\n24 80\r\n/);
    viewer.say({ type: "resize", cols: 120, rows: 40 });
    await viewer.next("resized");
    // Whoever attaches says its size, also when it is the same.
    viewer.say({ type: "resize", cols: 120, rows: 40 });
    await viewer.next("resized");
    viewer.type("stty size\n");
    await viewer.shows(/40 120/);
    viewer.type("exit 7\n");
    expect(await viewer.next("exit")).toMatchObject({ exit_code: 7 });
    expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "exit" });
    const ended = await terminals.get(operator.caller, { session_id: opened.session_id });
    expect(ended).toMatchObject({
      status: "closed",
      exit_code: 7,
      recording: "complete",
      bytes: viewer.offset,
    });
    const cast = await textOf(await terminals.transcript(operator.caller, { session_id: opened.session_id }));
    const [head, ...events] = cast
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(head).toMatchObject({ version: 2, width: 80, height: 24 });
    expect(
      events
        .filter(([, kind]) => kind === "o")
        .map(([, , text]) => text)
        .join(""),
    ).toBe(viewer.text);
    expect(events.filter(([, kind]) => kind === "r").map(([, , size]) => size)).toEqual(["120x40"]);
    const { items } = await terminals.list(operator.caller);
    expect(items.map(({ session_id }) => session_id)).toEqual([opened.session_id]);
  });

  it("is closed by its operator, and nothing of it is left", async () => {
    await using scene = await openTerminal();
    const { terminals, operator, opened } = scene;
    const viewer = scene.attach(opened.ticket);
    await viewer.next("opened");
    viewer.type("setsid sleep 1000 & sleep 1001 & echo pid=$!.\n");
    await viewer.shows(/pid=\d+\./);
    await terminals.close(operator.caller, { session_id: opened.session_id });
    expect(await viewer.next("closed")).toMatchObject({ reason: "closed" });
    const pid = Number(/pid=(\d+)\./.exec(viewer.text)?.[1]);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 30_000);
  });
});
