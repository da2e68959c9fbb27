/** A name server of a test's own (RFC 1035, over UDP), which may answer otherwise each time that it is asked. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4, type AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Addresses, or names that the name stands for with their addresses; or a code of failure; or nothing at all. */
export type NameAnswer = readonly string[] | { rcode: number } | "silence";

const types = { A: 1, CNAME: 5, AAAA: 28 } as const;
const isAnswer = 0x8180;
/** Points to the name that was asked for. */
const sameName = Buffer.from([0xc0, 0x0c]);

function nameBytes(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [left = "", right = ""] = address.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(left), groups(right)];
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex");
}

/** A record that is good for no time at all. */
function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, head, data]);
}

/** Reads the one question of a query: its name, its type, and where it ends. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function recordsOf(answer: readonly string[], type: number): Buffer[] {
  let owner: Buffer = sameName;
  return answer.flatMap((text) => {
    if (/[a-z]$/.test(text) && !text.includes(":")) {
      const alias = record(owner, types.CNAME, nameBytes(text));
      owner = nameBytes(text);
      return [alias];
    }
    const isOfType = type === (isIPv4(text) ? types.A : types.AAAA);
    return isOfType ? [record(owner, type, addressBytes(text))] : [];
  });
}

/** Starts one for the test that runs now. `asked` has the name of each query, in order. */
export async function startNameServer(
  answerTo: (name: string, times: number) => NameAnswer,
): Promise<{ address: string; asked: string[] }> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, { address, port }) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const answer = answerTo(name, asked.filter((each) => each === name).length);
    if (answer === "silence") return;
    const records = "rcode" in answer ? [] : recordsOf(answer, type);
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(isAnswer | ("rcode" in answer ? answer.rcode : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(async () => {
    socket.close();
    await once(socket, "close");
  });
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, asked };
}
