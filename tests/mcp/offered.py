"""The calls of every tool that the SDK's client makes, in order: each may see what those before
it changed."""

PATCH = """*** Begin Patch
*** Update File: src/lib.rs
@@
-    1
+    2
*** Add File: src/two.rs
+pub fn two() {}
*** End Patch
"""

CALLS = [
    ("read_text_file", {"path": "README.md"}),
    ("read_text_file", {"path": "notes/long.txt", "startLine": 3, "endLine": 5}),
    ("read_text_file", {"path": "notes/long.txt", "head": 2}),
    ("read_text_file", {"path": "notes/long.txt", "tail": 2}),
    ("read_text_file", {"path": "notes/crlf.txt"}),
    ("read_text_file", {"path": "latin.txt"}),
    ("read_text_file", {"path": "latin.txt", "as": "base64"}),
    ("read_text_file", {"path": "image.png", "as": "media"}),
    ("read_text_file", {"path": "bad-\\xff.txt"}),
    ("read_text_file", {"path": "in"}),
    ("list_directory", {"path": "."}),
    ("list_directory", {"path": "/"}),
    ("list_directory", {"path": "src", "details": True}),
    ("directory_tree", {"path": ".", "excludePatterns": ["many/**"]}),
    ("search_files", {"path": ".", "pattern": "**/*.rs"}),
    ("search_content", {"pattern": "one", "context": 1}),
    ("search_content", {"pattern": "f[n] ", "regex": True, "mode": "count"}),
    ("search_content", {"pattern": "nowhere at all"}),
    ("get_file_info", {"path": "README.md"}),
    ("get_file_info", {"path": ".env", "why": "read"}),
    ("write_file", {"path": "new/deep/file.txt", "content": "new\n"}),
    ("write_file", {"path": "README.md", "content": "replaced\n", "dryRun": True}),
    ("write_file", {"path": "README.md", "content": "Portcullis\nkeeps all files\n"}),
    ("edit_file", {"path": "notes/crlf.txt", "edits": [{"oldText": "b", "newText": "B"}]}),
    ("edit_file", {"path": "src/main.rs", "dryRun": True,
                   "edits": [{"oldText": "one", "newText": "two"}]}),
    ("apply_patch", {"patch": PATCH}),
    ("list_directory", {"path": "src", "sortBy": "oldest"}),
    ("create_directory", {"path": "made/here"}),
    ("move_file", {"source": "src/two.rs", "destination": "made/two.rs"}),
    ("delete_file", {"path": "made/two.rs"}),
    ("delete_file", {"path": "made", "recursive": True}),
    # Refused.
    ("read_text_file", {"path": "missing.txt"}),
    ("read_text_file", {"path": ".env"}),
    ("read_text_file", {"path": "out"}),
    ("read_text_file", {"path": "../state"}),
    ("read_text_file", {"path": "/etc/passwd"}),
    ("read_text_file", {"path": "pipe"}),
    ("read_text_file", {}),
    ("read_text_file", {"path": "README.md", "colour": "red"}),
    ("read_text_file", {"path": 7}),
    ("edit_file", {"path": "notes/long.txt", "edits": [{"oldText": "line 1", "newText": "x"}]}),
    ("edit_file", {"path": "notes/long.txt", "edits": [{"oldText": "", "newText": "x"}]}),
    ("move_file", {"source": "src/lib.rs", "destination": "src/main.rs"}),
    ("write_file", {"path": "notes/long.txt", "content": "unseen\n"}),
    ("search_content", {"pattern": "(", "regex": True}),
    ("apply_patch", {"patch": "no patch at all"}),
]

REFERENCE = [
    ("read_file", {"path": "README.md"}),
    ("read_text_file", {"path": "notes/long.txt", "head": 2}),
    ("read_media_file", {"path": "image.png"}),
    ("read_multiple_files", {"paths": ["README.md", "missing.txt"]}),
    ("write_file", {"path": "new.txt", "content": "new\n"}),
    ("edit_file", {"path": "new.txt", "edits": [{"oldText": "new", "newText": "newer"}]}),
    ("create_directory", {"path": "made"}),
    ("list_directory", {"path": "notes"}),
    ("list_directory_with_sizes", {"path": "notes", "sortBy": "size"}),
    ("directory_tree", {"path": "src"}),
    ("move_file", {"source": "new.txt", "destination": "made/new.txt"}),
    ("search_files", {"path": ".", "pattern": "**/*.rs"}),
    ("get_file_info", {"path": "README.md"}),
    ("list_allowed_directories", {}),
    ("read_text_file", {"path": "../outside"}),
]
