import '../../http/server/server.ts';
