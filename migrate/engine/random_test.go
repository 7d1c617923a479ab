package engine_test

import _ "pgregory.net/rapid"
