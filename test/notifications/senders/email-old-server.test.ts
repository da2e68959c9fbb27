/** A server of mail that knows no EHLO, and so no STARTTLS. */
import { describe, expect, it } from "vitest";
import { emailChannelType } from "../../../lib/notifications/senders/email.ts";
import { startSocketServer } from "../../support/receiver.ts";
import { send } from "./scene.ts";

const answers: Record<string, string> = { DATA: "354 go on", QUIT: "221 bye" };

async function startOldServer(ehlo = "502 what?") {
  const lines: string[] = [];
  const { port } = await startSocketServer((socket) => {
    socket.write("220 old\r\n");
    let isMail = false;
    socket.on("data", (data: Buffer) => {
      for (const line of data.toString().split("\r\n").slice(0, -1)) {
        lines.push(line);
        if (isMail && line !== ".") continue;
        isMail = line === "DATA";
        socket.write(`${{ ...answers, EHLO: ehlo }[line.split(" ")[0]!] ?? "250 ok"}\r\n`);
      }
    });
  });
  const config = { host: "127.0.0.1", port, from: "fleet@example.com", to: ["ops@example.com"] };
  return { lines, config };
}

describe("a server that knows no EHLO", () => {
  it("gets nothing where STARTTLS is wanted, and may learn it", async () => {
    const { config, lines } = await startOldServer();
    const attempt = await send(emailChannelType, config);
    expect(attempt).toMatchObject({ delivered: false, error: "STARTTLS could not be agreed" });
    expect(attempt.permanent).toBeUndefined();
    expect(lines.some((line) => line.startsWith("MAIL"))).toBe(false);
  });

  it("is none where it lets this client in for nothing", async () => {
    const { config } = await startOldServer("550 not from there");
    expect(await send(emailChannelType, config)).toMatchObject({ status_code: 550, permanent: true });
  });

  it("gets a mail without encryption where that is wanted", async () => {
    const { config, lines } = await startOldServer();
    expect(await send(emailChannelType, { ...config, security: "none" })).toMatchObject({ delivered: true });
    expect(lines).toContain("MAIL FROM:<fleet@example.com>");
  });
});
