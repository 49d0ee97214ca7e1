// npm run dev: an API server with an embedded store, the compiler, and the controller, which restarts after each change of a source. The server
// goes on meanwhile, and its objects outlive this command in .kapstan/dev; delete that directory to begin anew.
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = '.kapstan/dev';
const kubeconfig = `${directory}/admin.kubeconfig`;
const log = `${directory}/server.log`;
/** In the order in which they end. */
const children = [];
let isStopping = false;

/** Starts a program of Node in the project. When one ends by itself, all end. */
function start(name, args, stdio) {
  const child = spawn(process.execPath, args, { cwd: root, stdio });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  void exited.then((code) => isStopping || stop(`${name} ended with status ${code}`, 1));
  children.unshift({ child, exited });
  return child;
}

async function stop(reason, status) {
  if (isStopping) {
    // Whoever asks twice does not want to wait.
    for (const { child } of children) child.kill('SIGKILL');
    return;
  }
  isStopping = true;
  console.log(`dev: ${reason}`);
  for (const { child, exited } of children) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  }
  process.exitCode = status;
}

// A SIGTERM to npm may end the shell between npm and this process, which passes nothing on.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && !isStopping && stop('npm has ended', 0), 500).unref();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(`stopped by ${signal}`, 0));

/** Resolves at the first line that has the text, or at the end. All lines go to `onLine`. */
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
    // What keeps the server from starting is no line of the log.
    if (!line.startsWith('{')) console.error(line);
  });
}

async function startCompiler() {
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'];
  const compiler = start('the compiler', tsc, ['ignore', 'pipe', 'inherit']);
  await lineWith(compiler.stdout, 'Found 0 errors', (line) => line.trim() && console.log(`tsc: ${line}`));
}

await startServer();
if (!isStopping) {
  console.log(
    `dev: the API server is ready, its log is ${log}; for kubectl:\n\n  export KUBECONFIG='${root}${kubeconfig}'\n`,
  );
  await startCompiler();
}
const watch = ['--watch', '--watch-preserve-output', '--enable-source-maps', 'dist/dev.js', kubeconfig];
if (!isStopping) start('the controller', watch, ['ignore', 'inherit', 'inherit']);
