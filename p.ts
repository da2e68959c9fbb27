import { mkdtempSync, rmSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { LocalHost } from "./lib/host/local-host.ts";
import { systemClock } from "./lib/clock.ts";
import { resolveResource } from "./lib/state/definition.ts";
import { runState } from "./lib/state/engine.ts";
const folder = mkdtempSync("/tmp/fwp-");mkdirSync(folder+"/s");
const host = new LocalHost({ stateFolder: folder+"/state" });
const desired = Array.from({length:1000},(_, i)=>{const r=resolveResource({type:"file",path:`${folder}/s/file-${i}`,content:`${i} `.padEnd(1024,"x"),mode:"0640"},{module:"b"});if(!r.ok)throw 1;return r.resource;});
const run=(mode:any,applied:any)=>runState({mode,desired,applied,host,clock:systemClock,signal:new AbortController().signal,timeoutMs:60000});
const {applied}=await run("apply",[]);
const cpu=()=>{const u=process.cpuUsage();return (u.user+u.system)/1000};
for(const mode of ["apply","plan","check"]){ for(let i=0;i<50;i++)await run(mode,applied); const c=cpu();for(let i=0;i<200;i++)await run(mode,applied);console.log(mode,((cpu()-c)/200).toFixed(2),"ms CPU");}
import { createHash } from "node:crypto"; import {openSync,fstatSync,readSync,closeSync} from "node:fs";
const buffer=Buffer.allocUnsafe(65536);
const raw=()=>{for(let i=0;i<1000;i++){const fd=openSync(`${folder}/s/file-${i}`,"r");const {mode}=fstatSync(fd);const n=readSync(fd,buffer);const h=createHash("sha256").update(buffer.subarray(0,n)).digest("hex");closeSync(fd);if(h==="x"||mode===1)throw 1;}};
for(let i=0;i<50;i++)raw(); {const c=cpu();for(let i=0;i<200;i++)raw();console.log("raw",((cpu()-c)/200).toFixed(2))}
const cmp=()=>{for(let i=0;i<1000;i++)host.files.compareFile(`${folder}/s/file-${i}`,buffer.subarray(0,1024))};
for(let i=0;i<50;i++)cmp(); {const c=cpu();for(let i=0;i<200;i++)cmp();console.log("compareFile",((cpu()-c)/200).toFixed(2))}
rmSync(folder,{recursive:true});
