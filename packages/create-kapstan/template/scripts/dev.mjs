// npm run dev: an API server with an embedded store, the compiler, and the controller, which restarts after each change of a source. The
// server keeps running meanwhile, and its objects outlive this command in .kapstan/dev; delete that directory to start from scratch.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = '.kapstan/dev';
const kubeconfig = `${directory}/admin.kubeconfig`;
const log = `${directory}/server.log`;
/** The compiler's line that means success; it comes after the files were written. */
const compiled = 'Found 0 errors';
/** Processes in the order in which they end. */
const children = [];
let isStopping = false;

/** Starts a program of Node in the project. */
function spawnProgram(args, stdio) {
  const child = spawn(process.execPath, args, { cwd: root, stdio });
  const program = { child, exited: new Promise((resolve) => child.once('exit', resolve)) };
  children.unshift(program);
  return program;
}

/** Starts a program that this command cannot do without: when it ends by itself, all end. */
function start(name, args, stdio) {
  const { child, exited } = spawnProgram(args, stdio);
  void exited.then((code) => isStopping || stop(`${name} ended with status ${code}`, 1));
  return child;
}

async function end({ child, exited }) {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await exited;
}

async function stop(reason, status) {
  if (isStopping) {
    // A user who asks twice does not want to wait.
    for (const { child } of children) child.kill('SIGKILL');
    return;
  }
  isStopping = true;
  console.log(`dev: ${reason}`);
  // A restart that is under way takes its program out of the list meanwhile.
  for (const program of [...children]) await end(program);
  process.exitCode = status;
}

// A SIGTERM to npm may end the shell between npm and this process, which passes nothing on.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && !isStopping && stop('npm has ended', 0), 500).unref();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(`stopped by ${signal}`, 0));

/** Calls `onLine` with each line. Resolves at the first line that has the text, or at the end. */
function lineWith(stream, text, onLine) {
  return new Promise((resolve) => {
    const lines = createInterface(stream).on('close', resolve);
    lines.on('line', (line) => {
      onLine(line);
      if (line.includes(text)) resolve();
    });
  });
}

async function startServer() {
  mkdirSync(`${root}/${directory}`, { recursive: true });
  const logFile = createWriteStream(`${root}/${log}`);
  const flags = ['--secure-port=0', `--data-dir=${directory}`, `--kubeconfig-out=${kubeconfig}`];
  const kapstan = 'node_modules/@kapstan/control-plane/bin/kapstan.js';
  const server = start('the API server', [kapstan, 'serve', ...flags], ['ignore', 'inherit', 'pipe']);
  await lineWith(server.stderr, '"serving"', (line) => {
    logFile.write(`${line}\n`);
    // An error that keeps the server from starting is not a line of the log.
    if (!line.startsWith('{')) console.error(line);
  });
}

/**
 * Calls `onCompiled` each time the sources have no errors left. Resolves after the first time, or when the compiler ends.
 */
async function startCompiler(onCompiled) {
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'];
  const compiler = start('the compiler', tsc, ['ignore', 'pipe', 'inherit']);
  await lineWith(compiler.stdout, compiled, (line) => {
    if (line.trim()) console.log(`tsc: ${line}`);
    if (line.includes(compiled)) onCompiled();
  });
}

/**
 * Returns the text of each compiled file by the name of its source. The source map counts, because stack traces depend
 * on it.
 */
function compiledTexts() {
  const texts = new Map();
  const files = readdirSync(`${root}/dist`, { recursive: true }).filter((file) => /\.js(on)?$/.test(file));
  const read = (file) => (existsSync(`${root}/dist/${file}`) ? readFileSync(`${root}/dist/${file}`, 'utf8') : '');
  for (const file of files)
    texts.set(`src/${file.replaceAll('\\', '/').replace(/\.js$/, '.ts')}`, read(file) + read(`${file}.map`));
  return texts;
}

/** Returns the sources whose compiled files differ, or exist on one side only. */
function changedFiles(before, after) {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((file) => before.get(file) !== after.get(file)).sort();
}

/** Returns a port that is free now. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Each restart serves metrics and the inspector on this port, so that a page that is open goes on. */
const port = await freePort();
let controller;
let running = new Map();

function startController() {
  running = compiledTexts();
  const args = ['--enable-source-maps', 'dist/dev.js', kubeconfig, String(port)];
  const program = spawnProgram(args, ['ignore', 'inherit', 'inherit']);
  controller = program;
  void program.exited.then((code) => {
    if (isStopping || controller !== program) return;
    console.log(`dev: the controller ended with status ${code}; it starts again after the next change of a source`);
  });
}

// Only one restart runs at a time. Files compiled meanwhile are compared with those of the new process.
let restarting = Promise.resolve();

async function restartIfChanged() {
  if (controller === undefined || isStopping) return;
  const changed = changedFiles(running, compiledTexts());
  if (changed.length === 0) return;
  const former = controller;
  controller = undefined;
  const force = setTimeout(() => former.child.kill('SIGKILL'), 10_000);
  await end(former);
  clearTimeout(force);
  if (isStopping) return;
  children.splice(children.indexOf(former), 1);
  startController();
  console.log(`dev: ${changed.join(', ')} changed; the controller was restarted`);
}

await startServer();
if (!isStopping) {
  console.log(
    `dev: the API server is ready, its log is ${log}; for kubectl:\n\n  export KUBECONFIG='${root}${kubeconfig}'\n`,
  );
  await startCompiler(() => {
    restarting = restarting.then(restartIfChanged).catch((error) => stop(String(error), 1));
  });
}
if (!isStopping) startController();
