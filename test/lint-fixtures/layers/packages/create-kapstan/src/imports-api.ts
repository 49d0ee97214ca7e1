import '../../api/src/index.ts';
