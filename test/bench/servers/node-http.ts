/** The measure: the same answer from plain node:http. */
import type { ServerUnderTest } from "../server-process.ts";
import { agent, headers, path } from "./toy.ts";

export default async function create(): Promise<ServerUnderTest> {
  return {
    path,
    headers,
    listener(_request, response) {
      const body = JSON.stringify(agent);
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      });
      response.end(body);
    },
  };
}
