import 'lmdb';
