import { connect } from "node:net"; import { once } from "node:events"; import { fork } from "node:child_process"; import { fileURLToPath } from "node:url";
const here=(p:string)=>fileURLToPath(new URL(p,import.meta.url));
const child=fork(here("server-process.ts"),[process.argv[2]!],{execArgv:["--cpu-prof","--cpu-prof-dir=/tmp/surface-prof","--import","tsx","--import",here("use-build.ts")],env:{...process.env,NODE_ENV:"production"}});
const [ready]=(await once(child,"message")) as [any];
const req=Buffer.from(`GET ${ready.path} HTTP/1.1\r\n`+Object.entries({host:"127.0.0.1:"+ready.port,...ready.headers}).map(([a,b])=>`${a}: ${b}\r\n`).join("")+"\r\n");
const conns=await Promise.all(Array.from({length:16},async()=>{const s=connect(ready.port,"127.0.0.1");await once(s,"connect");s.setNoDelay(true);return s;}));
await Promise.all(conns.map(async s=>{for(let i=0;i<4000;i++){s.write(req);await once(s,"data");}}));
conns.forEach(s=>s.destroy()); child.disconnect();
