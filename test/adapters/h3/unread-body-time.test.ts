/** For how long the rest of a body that nobody reads is taken: while it comes, with no long pause, and not for ever. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { dropUnreadBody } from "../../../adapters/h3/unread-body.ts";
import { settleAll } from "../../support/deferred.ts";

/** A connection whose request was answered before its body came, and more of that. */
async function answered(announcedBytes = 1_000_000) {
  // Those of Node itself, which serve the connection, go on.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let there: Socket | undefined;
  const server = createServer((request, response) => {
    there = request.socket;
    dropUnreadBody(request, response);
    response.writeHead(413).end("no");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => {
    here.destroy();
    server.close();
  });
  let told = "";
  here.on("data", (piece: Buffer) => (told += piece.toString()));
  here.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${announcedBytes}\r\n\r\n`);
  await until(() => told.includes("no"));
  let sent = there!.bytesRead;
  return {
    isCut: () => there!.destroyed,
    /** Sends more, and waits until it was read. */
    async send(bytes = 100): Promise<void> {
      here.write(Buffer.alloc(bytes, "x"));
      sent += bytes;
      await until(() => there!.destroyed || there!.bytesRead >= sent);
      await settleAll();
    },
  };
}

/** `waitFor` waits by the timers that stand still here. */
function until(isTrue: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isTrue()) resolve();
      else setImmediate(look);
    };
    look();
  });
}

test("a body that comes with pauses below five seconds is read on, and cut half a minute after its answer", async () => {
  const { isCut, send } = await answered();
  for (let times = 0; times < 6; times += 1) {
    vi.advanceTimersByTime(4_900);
    expect(isCut()).toBe(false);
    await send();
  }
  vi.advanceTimersByTime(599);
  expect(isCut()).toBe(false);
  vi.advanceTimersByTime(1);
  expect(isCut()).toBe(true);
});

test("a body that stops to come is cut after five seconds", async () => {
  const { isCut, send } = await answered();
  vi.advanceTimersByTime(4_000);
  await send();
  vi.advanceTimersByTime(4_999);
  expect(isCut()).toBe(false);
  vi.advanceTimersByTime(1);
  expect(isCut()).toBe(true);
});

test("a body is read on to 16 MiB beyond its answer, and no further", async () => {
  const { isCut, send } = await answered(64 << 20);
  await send(16 << 20);
  expect(isCut()).toBe(false);
  await send(1);
  expect(isCut()).toBe(true);
});
