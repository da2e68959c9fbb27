/** The floor of lists: the same bytes, made once, from plain node:http. What is left is the kernel's and Node's. */
import type { ServerUnderTest } from "../server-process.ts";
import { page } from "./list-node-http.ts";
import { headers } from "./toy.ts";

const body = Buffer.from(JSON.stringify(page));

export default async function create(): Promise<ServerUnderTest> {
  return {
    path: "/api/v1/agents?limit=100",
    headers,
    listener(_request, response) {
      response.writeHead(200, { "content-type": "application/json", "content-length": body.byteLength });
      response.end(body);
    },
  };
}
