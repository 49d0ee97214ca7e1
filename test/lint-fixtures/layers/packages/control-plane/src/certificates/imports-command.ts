import '../command/command.ts';
